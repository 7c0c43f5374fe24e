// swift-format-ignore-file
// Written by scripts/rule-words from docs/PROTOCOL.md.

extension RuleWords {
  static let lnk: [String: String] = [
    "LNK-1":
      #"""
      Header layout, type numbers and the TLVs MAGIC, NONCE and VERSIONS of HELLO, SYN, SYNACK
      and RST are the same in all versions. From the first frame after SYNACK the chosen version rules.
      """#,
    "LNK-2":
      #"""
      HELLO, SYN, RST and UDATA carry seq = ack = credit = 0, and a receiver ignores those
      fields in them, as a device ignores the session field of a SYN. SYNACK carries ack 0 and the
      device's first credit. All other frames carry the sender's present ack and credit.
      """#,
    "LNK-3":
      #"""
      A payload longer than its format is read up to the format's end; a shorter one makes the
      frame *malformed*: it is counted and dropped, without an answer, except where LNK-19 says otherwise.
      DATA with an empty payload is malformed; UDATA may be empty. The channel of other frames than DATA
      and UDATA is 0 and is not looked at. A NAK of 1 to 7 bytes is malformed; one of 8 bytes or more is
      read as a bitmap.
      """#,
    "LNK-4":
      #"""
      DATA on a channel that the receiver does not serve is received in order, acknowledged, and
      its payload dropped and counted. UDATA on such a channel is dropped and counted: in version 1 a
      device serves no channel for UDATA, and a host channel 1 alone. Log text in UDATA may be cut
      anywhere; the end of a frame is no end of a line. Without an open session a device prints its log as
      console text; in a session that LNK-16 keeps silent it may do so, too.
      """#,
    "LNK-5":
      #"""
      A TLV is a type byte, a length byte and that many bytes. Bit 7 of the type marks it
      *critical*; the whole byte is the type, so 0x85 is not FEATURES but unknown and critical. A known
      TLV in a frame that the table does not list it for is checked and ignored; a sender does not put one
      there.
      """#,
    "LNK-9":
      #"""
      FEATURES bits: 0 pipelined ATT requests, 1 optional notification keys, 2 SYNC, 3 framed
      log (UDATA on channel 1), 4 kept actions (NTF-39). A feature is in use when both sides set its bit.
      Bit 2 needs bit 1: a side that sets 2 alone is taken to have set neither. Bit 4 needs bits 1 and 2:
      a side that sets it without them is taken not to have set it. A SYNACK may announce all features of
      the device, or only those that the SYN has set as well. RESET_REASON: 0 unknown, 1 power-on, 2
      external pin, 3 software, 4 panic, 5 interrupt watchdog, 6 task watchdog, 7 other watchdog, 8 deep
      sleep, 9 brownout, 10 SDIO (the numbers of `esp_reset_reason_t`).
      """#,
    "LNK-6":
      #"""
      Required are: in HELLO MAGIC, VERSIONS, BOOT_ID; in SYN MAGIC, NONCE, VERSIONS; in SYNACK
      MAGIC, NONCE, VERSION, BOOT_ID; in RST MAGIC, VERSIONS, REASON. MAGIC comes first; the order of the
      others is free, senders use the order of the table. Without LIMITS: 4 frames, 1 request, MTU 23,
      2160 bytes. Without FEATURES: none.
      """#,
    "LNK-7":
      #"""
      A known TLV shorter than its value, a TLV that runs past the end, a known TLV that occurs
      twice, a missing required TLV, a first TLV other than MAGIC, or another magic: malformed. Bytes
      beyond a known value are ignored. An unknown TLV is ignored, unless it is critical: that refuses a
      SYN (LNK-19), and makes a HELLO, SYNACK or RST malformed. A VERSIONS whose lowest is above its
      highest holds no version. A type byte alone at the end runs past the end, whatever its type.
      """#,
    "LNK-8":
      #"""
      Limits, each about what the announcer *receives*: `frames` 2–64, DATA frames beyond the
      last handled one; `bytes` 1080 or more, their decoded sizes (payload + 12) together; `mtu` 23–528,
      the largest ATT PDU; `requests` 1–32, ATT requests not yet answered, at most half of `frames`. A
      side announces values in range; one out of range is brought to the nearest one in it. Usual are 16
      frames, 8 requests, 4096 bytes for a device and 64 frames, 8 requests, 65536 bytes for a host.
      """#,
    "LNK-10":
      #"""
      A device sends HELLO as soon as its link runs after boot, and again 200 ms and 400 ms
      after the first one: three in all. The first SYN ends them, also one that is refused (LNK-19).
      """#,
    "LNK-11":
      #"""
      To open a session the host draws a random nonce, which can be 0, and sends SYN;
      unanswered, it sends the same SYN again after 250 ms, then every 500 ms, from 10 s after the first
      one every 2 s. When to give up is the program's choice.
      """#,
    "LNK-12":
      #"""
      The device answers a SYN by SYNACK with the SYN's nonce, the highest version common to
      both, its limits and the session id. The device chooses the id: random at boot, one more for each
      session that it opens, however the one before ended, never 0; after 65535 comes 1. A SYN that is
      refused or ignored uses up no id. A SYNACK with session 0 is malformed.
      """#,
    "LNK-13":
      #"""
      A SYN with the nonce of the live session is the same SYN: it is answered by the same
      SYNACK (UPTIME may be that of the answer), and nothing else changes, however much data has passed.
      """#,
    "LNK-14":
      #"""
      A SYN with a new nonce ends the device's live session and opens another. The device
      remembers the last 8 nonces since boot that opened a session, the live session's among them, all 8
      bytes of each, however their sessions ended. It ignores a SYN with a remembered nonce that is not
      the live session's. A SYN with an older nonce than these opens a session.
      """#,
    "LNK-15":
      #"""
      The host takes only a SYNACK that carries the nonce of its SYN. It then sends an ACK at
      once.
      """#,
    "LNK-16":
      #"""
      After SYNACK the device sends nothing in the session until it has received a frame of it.
      Until then the session does not time out at the device either. A frame of the session is any
      well-formed one that carries its id, UDATA among them; a malformed one (LNK-3) is not.
      """#,
    "LNK-18":
      #"""
      RST reasons: 1 no such session, 2 no common version, 3 unknown critical TLV (its type in
      REFUSED, of several the first), 4 malformed. A device puts BOOT_ID in every RST, and in VERSIONS the
      range it supports. A device that receives an RST drops and counts it: it is no frame of the session,
      whatever id it carries, so it neither confirms the session (LNK-16), nor keeps it open (LNK-53), nor
      ends it.
      """#,
    "LNK-19":
      #"""
      A malformed SYN is answered by RST reason 4, one with an unknown critical TLV by RST
      reason 3, one without a common version by RST reason 2, each with the SYN's NONCE when it could be
      read; when several apply, 4 comes before 3 and 3 before 2. It could be read when a NONCE of 8 bytes
      or more comes before any TLV that runs past the end, whatever else is malformed; of several such
      NONCEs the first counts. A SYN that is to be refused is refused also when its nonce is that of the
      live session or a remembered one. The live session stays. Malformed HELLO, SYNACK and RST are
      counted and dropped. A SYNACK whose version the host did not offer is malformed.
      """#,
    "LNK-20":
      #"""
      DATA, ACK, NAK or PING of a session that is not the live one is answered by RST reason 1
      with that session in the header, at most 10 in any second, whatever sessions begin and end in it;
      the first 10 are answered, each. Of the answers to these frames, to SYNs that are refused (LNK-19)
      and to FIN at least 4 can wait to be sent; a device drops and counts what it has no room for. The
      RSTs of LNK-19 do not count. Session 0 is never the live one: DATA, ACK, NAK and PING with session 0
      are answered in the same way. PONG, FIN, UDATA and RST are never answered so. Only a device sends
      RST: a host drops frames of other sessions and counts them, because its SYN is what repairs the
      state. The limit counts what was sent in the second before; it is not reset at whole seconds.
      """#,
    "LNK-23":
      #"""
      When a session ends, each request that was sent and not yet answered is reported *outcome
      unknown*, one that never left *not sent*. Nothing is resent into another session by this layer. A
      device drops what it has not sent in the session, and the bearer's state (ATT-3). It still sends the
      answers of LNK-20 that are waiting, including the ACK of a FIN.
      """#,
    "LNK-24":
      #"""
      To close, a side that has nothing unacknowledged, or gives up, sends FIN: once, it is not
      resent. A side that ends a live session for any other reason than LNK-14, LNK-22, a FIN received, or
      silence (LNK-53) sends FIN too, so that the peer does not depend on its own timeout; it need not
      wait for the answer. A device that LNK-16 keeps silent ends the session without FIN. The peer
      answers FIN with ACK and ends the session. The closer ends when an ACK or FIN of the session comes,
      also one that was sent before the FIN arrived, at a host also an RST (LNK-18), or after 200 ms. A
      FIN of a session that is over already gets no answer. A device that has sent FIN takes no DATA any
      more and sends no new DATA; PING may stay unanswered, and so may a FIN, which ends the session all
      the same. Until then the session is the live one: a SYN with its nonce gets the same SYNACK
      (LNK-13), and its frames get no RST.
      """#,
    "LNK-30":
      #"""
      DATA frames of a direction are numbered from 0 in each session, modulo 256. `ack` is the
      number of the next one expected in order. A frame is acknowledged when it is in the session's
      memory.
      """#,
    "LNK-31":
      #"""
      An ack outside of [oldest unacknowledged, next to send] is ignored together with the
      frame's credit; the frame's payload is not.
      """#,
    "LNK-32":
      #"""
      The receiver takes a DATA frame whose number is the expected one. A number up to `frames`
      − 1 above it is *out of order*: a host keeps the frame until the hole is filled; a device keeps such
      frames or drops them, all of a session alike. A kept frame counts as received when the holes before
      it are filled, not sooner, but its bytes count as granted and used. All other numbers are *out of
      window*: dropped, and answered by an ACK, in each session at most one in 20 ms; so is a frame beyond
      the credit or the bytes that were granted, whatever its number. A frame that comes within 20 ms of
      such an ACK need not be answered. Any frame that carries ack and credit may stand for that ACK. What
      counts as granted is what the receiver has handled when the frame arrives (LNK-40), whether or not a
      frame has announced it yet. A receiver that drops out-of-order frames counts no bytes for those that
      it dropped.
      """#,
    "LNK-33":
      #"""
      A receiver that drops out-of-order frames sends for them a NAK without payload, with
      `ack` = the number missing: one for each hole and round. A new round begins when an out-of-order
      frame arrives whose number is not above that of the last out-of-order one, by their distances from
      `ack`. A later hole is asked for when it has become the first and a further out-of-order frame
      arrives. A receiver that keeps them sends a NAK with a payload of 8 bytes, a bitmap of what is held
      beyond `ack`: bit *i* is the frame `ack` + 1 + *i*. It sends it at once when a frame opens a new
      hole, that is, when its number is above that of the highest held frame by more than one, or when
      nothing was held. Otherwise an out-of-order frame, one that is held already too, makes it send the
      bitmap as LNK-50 makes it send an ACK: with the second one not reported by a bitmap, or 5 ms after
      the first. While anything is held such a NAK takes the place of the ACK of LNK-50. A round is thus
      what one sending of the window brings: the first frame of a resend that is not above the last one
      starts the next.
      """#,
    "LNK-34":
      #"""
      On a NAK without payload (valid by LNK-31) the sender sends all frames from `ack` on
      again. On one with a bitmap it sends those again that are proven lost: the wire keeps order
      (FRM-15), so a frame that is neither acknowledged nor held is lost when a held one was sent for the
      first time after its own last sending. So a frame sent again goes out once more only when something
      newer than that has arrived, and what lies above the highest held frame never does. A bitmap of 0
      counts as none. Only a NAK and the resend timer cause a resend; a repeated ACK never does.
      """#,
    "LNK-35":
      #"""
      Frames other than DATA may overtake DATA. A resent frame has the same seq and payload,
      and the sender's present ack and credit.
      """#,
    "LNK-40":
      #"""
      `ack` + `credit` = frames *handled* + the announced `frames`. A frame is handled when the
      layer above has taken it. So credit moves when it was handled, ack when it was received; neither
      says *applied*, which only the ATT response does.
      """#,
    "LNK-41":
      #"""
      The sender's limit begins with the SYNACK's credit at the host; LIMITS alone grants
      nothing. It is the largest `ack` + `credit` it has seen in frames that pass LNK-31; it sends no DATA
      with a number at or beyond its limit. The limit never goes back. At a device it is 0 until the
      host's first frame of the session.
      """#,
    "LNK-42":
      #"""
      The decoded sizes of the frames sent and not yet handled (handled = limit − the peer's
      `frames`, at least 0) never exceed the peer's `bytes`.
      """#,
    "LNK-43":
      #"""
      A device also keeps at most as many unacknowledged DATA frames as the larger of 8 and the
      `requests` that it announced; it may keep fewer, but at least one.
      """#,
    "LNK-44":
      #"""
      A side neither stops reading nor holds back credit because its own sending waits. A
      device takes a request only when it has room for the response. Until then that request waits, and
      with it what is behind it and the credit for both; a SYNC may wait in the same way, and what is
      behind a SYNC may wait until its SYNCED is sent. It needs room for one response, the one to that
      request; waiting notifications never take that room. This holds for more requests than ATT-6 allows,
      too.
      """#,
    "LNK-55":
      #"""
      A side may use any value in *range*; numbers in the rules are the defaults. So a fixed
      resend time of 200–500 ms conforms as well as a measured one.
      """#,
    "LNK-50":
      #"""
      A receiver acknowledges at the latest with the second unacknowledged DATA frame, or 5 ms
      after the first. Any frame that carries ack and credit does; an ACK is sent when there is none. When
      credit had been 0 and grows, an ACK is sent at once. When a frame was handled and nothing has
      reported it for 5 ms, an ACK is sent as well: a peer at its byte limit waits for that, whatever the
      credit. While frames are held, LNK-33 says what is sent instead.
      """#,
    "LNK-51":
      #"""
      Resend timer: one, for the oldest unacknowledged frame, restarted when `ack` advances.
      First 250 ms; from the first sample on srtt + 4·rttvar (gains 1/8 and 1/4, as in RFC 6298), held
      within 100–500 ms. A sample is taken only from a frame sent once, and only when no resent frame is
      unacknowledged. On expiry all unacknowledged frames within the limit are sent again, but for those
      that a bitmap named as held, unless it is the oldest one; if no frame was received since the timer
      was started it doubles, up to 2 s, else it stays; the doubling ends when `ack` advances, or at the
      latest with the next sample. A resend for a NAK restarts the timer. At low rates the line time of
      the bytes queued ahead of a frame is added. Whether a sample is taken is decided before the ack that
      arrives is applied: a frame sent more than once prevents it also when this ack covers that frame. Of
      the frames that one ack covers, the newest gives the sample.
      """#,
    "LNK-52":
      #"""
      A side of an open session that has received no frame of it for 1 s sends PING, and again
      after each further second. A PING is answered by PONG at once, also while the application is busy;
      its payload counts DATA frames handled, modulo 256. Each PING has a PONG of its own, up to 16 that
      wait. A PONG is never answered. A device sends PING for no other reason.
      """#,
    "LNK-53":
      #"""
      With nothing received the session is *suspect* after 3 s and down after 5 s, however many
      tries that were. Only received valid frames of the live session count; sending does not. UDATA of
      the session counts as well; a SYN, also its own (LNK-13), a malformed frame (LNK-3) and a frame of
      session 0 do not.
      """#,
    "LNK-17":
      #"""
      A HELLO while a SYN is out: the host sends the same SYN at once. A HELLO that carries the
      boot id of the open session is ignored.
      """#,
    "LNK-21":
      #"""
      While a SYN is out, an RST with its nonce ends the attempt with the reason given; any
      other is ignored.
      """#,
    "LNK-22":
      #"""
      In an open session the host takes these as its end, at once: RST reason 1 with its
      session id; and HELLO, SYNACK or RST with another boot id than the session's (*the device
      restarted*). Anything else of those types is ignored. It then opens a new session.
      """#,
    "LNK-54":
      #"""
      If PONGs arrive while a request waits, and for 10 s neither ack nor `handled` advances
      nor a response comes, the peer's application is *stalled*. This is reported as no answer, not as a
      lost link; the session is ended by FIN.
      """#,
  ]
}
