// swift-format-ignore-file
// Written by scripts/rule-words from docs/PROTOCOL.md.

extension RuleWords {
  static let frm: [String: String] = [
    "FRM-16":
      #"""
      The bytes below the frames are 8N1 without flow control, raw: no echo, no translation,
      all 256 values pass.
      """#,
    "FRM-17":
      #"""
      On a UART the rate is 921600 unless both sides are configured otherwise.
      """#,
    "FRM-18":
      #"""
      Opening a port should leave DTR and RTS as they are, or set both alike at once, because
      on many boards they reset the chip. A host may discard input that was waiting when it opened the
      port: it does not depend on a HELLO, because its SYN opens the session.
      """#,
    "FRM-1":
      #"""
      A frame is sent as one zero byte, the COBS encoding of header, payload and CRC, and one
      zero byte. Both zeros are sent for every frame, also between two frames that follow each other.
      """#,
    "FRM-2":
      #"""
      COBS: the data is cut after every zero byte and after every 254 bytes without one. Each
      block is sent as a code byte *n* (1–255) and *n*−1 data bytes; a code below 255 stands for a zero
      after its block, except after the last one. The encoding of *k* bytes takes at most *k* + ⌈*k*/254⌉
      bytes and contains no zero. A receiver also accepts the longer form in which a final block of
      exactly 254 bytes is followed by the code 01.
      """#,
    "FRM-3":
      #"""
      The last four decoded bytes are the CRC-32/ISO-HDLC of header and payload (reflected
      polynomial 0xEDB88320, initial value and final XOR 0xFFFFFFFF; zlib's `crc32`, the ESP ROM's
      `esp_rom_crc32_le(0, …)`), least significant byte first. The CRC of `123456789` is 0xCBF43926, that
      of `aa:bb:cc:dd:ee:ff` is 0xD9CF27A9.
      """#,
    "FRM-4":
      #"""
      A decoded frame is 12 to 540 bytes long, an encoded one at most 543 bytes between its
      zeros.
      """#,
    "FRM-5":
      #"""
      The payload length in the header must equal the decoded length less 12. It is a check
      only: the zeros decide where a frame ends.
      """#,
    "FRM-6":
      #"""
      The bytes between two zeros are a *candidate*. A candidate that is not a valid frame is
      console text: all of its bytes as received, in order, each once. A zero is never text. Two zeros in
      a row have nothing between them. The start of a stream, as each side sees it, counts as a zero.
      """#,
    "FRM-7":
      #"""
      A candidate is text as soon as its decoded header is impossible: type 0, 12, 13, 14 or 15;
      a type that its direction never sends (HELLO or SYNACK from the host, SYN from the device, but not
      an RST from the host, LNK-18); or a payload length above 528. It need not be complete for that.
      """#,
    "FRM-8":
      #"""
      A candidate whose header is possible waits for what comes first: the next zero (valid, it
      is a frame; else text), its 544th encoded byte without a zero (text; *overrun* is counted), or
      silence.
      """#,
    "FRM-9":
      #"""
      Silence: 1 s has passed since the last byte of the candidate, and a read made after that
      found nothing to read. A receiver that was itself stopped for a second must therefore read once more
      before it decides. The candidate is then text.
      """#,
    "FRM-10":
      #"""
      What was decided to be text stays text up to the next zero, and is handed on at once,
      without waiting for that zero or for a line end.
      """#,
    "FRM-11":
      #"""
      Direction: a valid frame that carries the receiver's own direction bit is dropped and
      counted as an *echo* (a loopback plug, a console that echoes). It is neither text nor answered.
      """#,
    "FRM-12":
      #"""
      A receiver counts: frames accepted, CRC errors (possible header, complete, wrong CRC),
      malformed candidates (complete, header possible or too short to decide, wrong COBS, length or size),
      text bytes, echoes, overruns. Of every byte received that is not a zero: it was in an accepted
      frame, in an echo or in the text. There is no fourth place. Length and size are checked before the
      CRC: with both wrong a candidate is malformed. The CRC is checked before the direction. A candidate
      with an impossible header, and one that silence or an overrun ended, is neither a CRC error nor
      malformed.
      """#,
    "FRM-13":
      #"""
      Nothing that arrives makes a receiver keep more than 544 bytes of a candidate.
      """#,
    "FRM-14":
      #"""
      A sender writes a frame whole. A log line must not be put between its zeros; on a device
      one lock serves frames and console. If a write is cut short and cannot be completed, the sender
      sends a zero before anything else.
      """#,
    "FRM-15":
      #"""
      Fault model: the wire keeps order. Bytes may be lost, changed and added anywhere. A frame
      of the live session may arrive again only while fewer than 128 newer ones have passed; frames of
      other sessions may arrive again at any time.
      """#,
  ]
}
