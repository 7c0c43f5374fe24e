/// A push as a sender documents it, to try a gateway and its profiles.
package struct PushSample: Hashable, Sendable {
  /// The sender and its kind of push.
  package var name: String
  package var topic: String
  /// With the place `{now}` for the time.
  private var template: String

  package func body(now: WallTime) -> String {
    template.split(separator: "{now}", omittingEmptySubsequences: false).joined(separator: "\(now.seconds)")
      .split(separator: "{later}", omittingEmptySubsequences: false).joined(separator: "\(now.seconds + 300)")
  }

  private static let bridge = "com.codingbridge.CodingBridge"

  package static let all = [
    PushSample(
      name: "codingbridge/approval", topic: bridge,
      template: #"{"aps":{"alert":{"title":"Approval Needed","subtitle":"Bash","body":"Execute: npm test"},"#
        + #""sound":"default","category":"APPROVAL_REQUEST","mutable-content":1},"#
        + #""requestId":"approval-123","toolName":"Bash","type":"approval"}"#),
    PushSample(
      name: "codingbridge/question", topic: bridge,
      template: #"{"aps":{"alert":{"title":"Claude has a question","#
        + #""body":"Which database should we use for this feature?"},"#
        + #""sound":"default","category":"QUESTION_ASKED"},"questionId":"question-456","type":"question"}"#),
    PushSample(
      name: "codingbridge/complete", topic: bridge,
      template: #"{"aps":{"alert":{"title":"Task Complete","body":"All tests passed successfully"},"#
        + #""sound":"default","category":"TASK_COMPLETE"},"sessionId":"session-789","type":"complete"}"#),
    PushSample(
      name: "codingbridge/activity", topic: bridge,
      template: #"{"aps":{"timestamp":{now},"event":"update","content-state":{"status":"processing","#
        + #""currentOperation":"Running tests...","elapsedSeconds":120,"#
        + #""todoProgress":{"completed":3,"total":7,"currentTask":"Fix authentication"}},"#
        + #""stale-date":{later}}}"#),
    PushSample(
      name: "codingbridge/activity-end", topic: bridge,
      template: #"{"aps":{"timestamp":{now},"event":"end"}}"#),
    PushSample(
      name: "codingbridge/clear", topic: bridge,
      template: #"{"aps":{"content-available":1},"clearApprovalId":"approval-123","#
        + #""reason":"approved_on_other_device"}"#),
    PushSample(
      name: "dayly/new-photos", topic: "com.yourcompany.daily",
      template: #"{"aps":{"alert":{"title":"Dayly","body":"Family has new photos"},"badge":1,"#
        + #""sound":"default","thread-id":"g1"},"group_id":"g1","type":"new_photos"}"#),
    PushSample(
      name: "lucifer/alert", topic: "com.gokul.lucifer",
      template: #"{"aps":{"alert":"Time for the gym?"}}"#),
  ]
}
