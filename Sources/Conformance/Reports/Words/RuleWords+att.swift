// swift-format-ignore-file
// Written by scripts/rule-words from docs/PROTOCOL.md.

extension RuleWords {
  static let att: [String: String] = [
    "ATT-1":
      #"""
      A DATA frame on channel 4 carries exactly one PDU. UUIDs are sent least significant byte
      first.
      """#,
    "ATT-2":
      #"""
      Handles are as in the table on a device whose PROFILE_HASH says so. A host that does not
      know the hash discovers the service by UUID (Read By Group Type, Read By Type, Find Information) and
      uses what it finds; a host that knows it may skip that.
      """#,
    "ATT-3":
      #"""
      A session is a bearer, over BLE a connection. MTU (23 at first), CCCDs (0 at first) and
      the prepare queue belong to the bearer and end with it; the store of notifications does not.
      """#,
    "ATT-4":
      #"""
      PROFILE_HASH is the CRC-32 (FRM-3) of, for the attributes 1, 2, 4, 5 and 7 in handle
      order: handle u16, type u16, and for 1 the service UUID (16 bytes), for 2 and 5 properties u8, value
      handle u16, UUID (16 bytes), for 4 and 7 nothing. For the table above it is given in the appendix.
      """#,
    "ATT-5":
      #"""
      A response names its request: opcode + 1, or Error Response `01` with the request's
      opcode, the handle in question (0 if there is none) and a code. Every request gets exactly one of
      the two. Responses come in the order of the requests.
      """#,
    "ATT-6":
      #"""
      With feature bit 0 on both sides, the client may have as many requests outstanding as the
      smaller `requests` says; without, one. Exchange MTU, Prepare Write and Execute Write are barriers:
      they are sent only when nothing is outstanding, and nothing is sent until they are answered. A
      request that fails does not stop those behind it.
      """#,
    "ATT-7":
      #"""
      A request without an answer for 30 s ends the session at the client.
      """#,
    "ATT-8":
      #"""
      Exchange MTU `02` carries the client's `mtu` limit. The answer `03` carries the server's
      MTU (its `mtu` limit); both then use the smaller of the two, at least 23. A second Exchange MTU is
      answered alike and changes nothing.
      """#,
    "ATT-9":
      #"""
      Find Information `04`, Find By Type Value `06`, Read By Type `08`, Read By Group Type
      `10`: start handle 0, or start above end, is error 0x01; nothing found is 0x0A, Read By Group Type
      for another type than 0x2800 is 0x10, all three with the start handle, 0x01 before 0x10. An answer
      holds entries of one size only, as many as fit in MTU. Read By Type of a value that may not be read
      is error 0x02 with its handle when it is the first one found. Find By Type Value finds only values
      that are equal as a whole, none that begin alike. The group end in its answer is 7 for the service,
      and the attribute's own handle for any other. Read By Type and Read By Group Type find a type of 2
      bytes also by its 16-byte form, with the Bluetooth base UUID.
      """#,
    "ATT-10":
      #"""
      Read `0A` gives the value's first MTU − 1 bytes, Read Blob `0C` those from an offset;
      offset equal to the length gives none, beyond it is error 0x07.
      """#,
    "ATT-11":
      #"""
      No such handle: 0x01. Reading Data: 0x02. Writing Count, a declaration or the service:
      0x03.
      """#,
    "ATT-12":
      #"""
      A write to a CCCD is 2 bytes, else 0x0D; bit 0 turns notifications on; any other bit set
      is 0xFD, and nothing changes. It reads back as written. Writing 1 to a CCCD that is 1 changes
      nothing: the subscription goes on, and its waiting notifications are still sent. Writing 0 drops
      them.
      """#,
    "ATT-13":
      #"""
      A Write Request to Data longer than 512 bytes is 0x0D.
      """#,
    "ATT-14":
      #"""
      Prepare Write `16` is checked for handle and permission, queued and echoed by `17`. The
      queue takes 8 entries and 1024 bytes at least; a part for which it is full is 0x09, and the queue
      stays as it is. Execute `18 00` empties the queue; `18 01` writes it: the parts in order, each
      beginning where the last ended, else 0x07; more than 512 bytes together 0x0D; then as one write of
      the whole (NTF-1). Whatever the answer, the queue is empty afterwards. The first part of each handle
      begins at 0. Parts for different handles make one write for each: the CCCDs are checked, then Data
      is written, then the CCCDs; so after an error nothing is written, a subscription does not report the
      write before it, and the end of one drops that (ATT-12). `18 01` with an empty queue succeeds. A
      part may be empty. Parts of several handles may come in any order: each continues the last part of
      its own handle. Execute checks the offsets of all parts first, in the order in which they were
      queued, then the CCCDs in the order of their handles, then Data. An error names the handle of the
      part, or of the attribute, that caused it. A Write Request in between leaves the queue as it is.
      """#,
    "ATT-15":
      #"""
      Write Command `52`, to whatever handle, is not permitted and is ignored, without an
      answer; so is every unknown opcode with bit 6 set. An unknown opcode without it, and a request the
      server does not support, is error 0x06: also an odd opcode that the Core specification assigns to no
      response, such as 0x15 and 0x25. Responses, notifications, indications and confirmations that a
      server receives are ignored. A server sends no indications; a client ignores and counts one. 0x06
      comes before 0x04: an unsupported request is answered by 0x06 whatever its length.
      """#,
    "ATT-16":
      #"""
      A request shorter than its format, or longer where the format is fixed, is error 0x04,
      with handle 0; so are an Execute Write flag other than 0 and 1, and a UUID that is not 2 or 16 bytes
      long. A PDU longer than MTU is error 0x04 as well. An Execute Write that is answered by 0x04 for any
      of these reasons empties the prepare queue, too (ATT-14).
      """#,
    "ATT-17":
      #"""
      A notification `1B` is sent only while the CCCD of its characteristic is 1 on that
      bearer; it carries at most MTU − 3 bytes. What happened before the subscription is not reported
      later: a client reads the count after it has subscribed.
      """#,
    "ATT-18":
      #"""
      A notification caused by a write is queued after that write's response.
      """#,
    "ATT-19":
      #"""
      A notification waits until it is sent for the first time, whatever holds it back (LNK-41
      to LNK-43). Waiting notifications of Count become one, with the latest value. Of Data, at least 8
      wait in order; beyond that the newest is dropped and counted; what a SYNC makes the device report
      again (NTF-31) takes none of these places, and none of it is dropped. A notification of Count stands
      behind the responses to all writes whose effect its value has (ATT-18); its place among waiting
      notifications of Data is free. What a device cannot queue it counts; NTF-33 says what it sends
      instead.
      """#,
    "ATT-20":
      #"""
      A value that does not fit in a Write Request (MTU − 3 bytes) is written by Prepare Write
      and Execute Write (ATT-14).
      """#,
  ]
}
