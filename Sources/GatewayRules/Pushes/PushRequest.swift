import Digests

/// Turns an accepted push into what the intake takes.
package enum PushRequest {
  /// The key of a push: the sender's id if it gave one, otherwise its content.
  package static func key(_ head: PushHead, token: [UInt8], body: [UInt8]) -> [UInt8] {
    let token = hexText(token)
    if let id = head.apnsID { return SHA256.digest(of: "a", head.topic, token, id.lowercased()) }
    let content = hexText(SHA256.digest(body))
    return SHA256.digest(of: "h", head.topic, token, head.collapseID ?? "", "\(head.priority)", content)
  }

  /// The checks of a device token against the table. Nothing here depends on the body.
  package static func token(
    of head: PushHead, in tokens: DeviceTokens
  ) -> (token: DeviceToken?, refusal: PushRefusal?) {
    guard let digest = DeviceToken.digest(ofHex: head.deviceToken) else {
      let words = "the device token is not 64 hexadecimal digits: it has \(head.deviceToken.count) characters"
      return (nil, PushRefusal(.badDeviceToken, because: words, remedy: "send its bytes in hexadecimal only"))
    }
    guard let token = tokens[digest] else { return (nil, PushRefusal(.badDeviceToken)) }
    guard token.topic == head.profileTopic else { return (token, PushRefusal(.deviceTokenNotForTopic)) }
    return (token, token.revoked == nil ? nil : PushRefusal(.unregistered))
  }
}
