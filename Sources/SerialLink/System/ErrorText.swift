import Foundation
import NIOCore

/// The reason of any error in words for a person. Foundation's own texts have codes and domains, or
/// depend on a language.
package func errorText(_ error: any Error) -> String {
  switch error {
  case let error as any ClassifiedError: error.description
  case let error as IOError: systemText(error.errnoCode)
  case let error as POSIXError: systemText(error.code.rawValue)
  case let error as CocoaError: errorText(of: error.userInfo, error.errorCode)
  case let error as NSError where error.domain == NSPOSIXErrorDomain: systemText(Int32(error.code))
  case let error as NSError: errorText(of: error.userInfo, error.code)
  case let error: "\(error)"
  }
}

private func errorText(of information: [String: Any], _ code: Int) -> String {
  (information[NSUnderlyingErrorKey] as? any Error).map(errorText) ?? "the system refused it (code \(code))"
}
