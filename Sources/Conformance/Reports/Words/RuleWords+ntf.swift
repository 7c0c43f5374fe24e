// swift-format-ignore-file
// Written by scripts/rule-words from docs/PROTOCOL.md.

extension RuleWords {
  static let ntf: [String: String] = [
    "NTF-1":
      #"""
      A write of Data is one notification: a JSON object (RFC 8259), UTF-8, at most 512 bytes,
      with the keys `app`, `title`, `text` (strings) and `timestamp` (number). The device stores it and
      answers success, or answers an error and stores nothing.
      """#,
    "NTF-2":
      #"""
      `timestamp` is whole seconds since 1970-01-01 UTC, 0–4294967295, written with digits only:
      no sign, fraction or exponent.
      """#,
    "NTF-3":
      #"""
      After unescaping `app` is at most 64 bytes and `title` at most 128 bytes of UTF-8. `text`
      has the rest of the 512.
      """#,
    "NTF-4":
      #"""
      Refused with 0x80: what is not JSON; no object at the top; anything but white space after
      it; a byte order mark; invalid UTF-8; an escape for half a surrogate pair; U+0000; a character from
      U+0001 to U+001F that is not escaped; a key twice in the top object, escapes decoded; arrays and
      objects nested more than 8 deep, the top one counted; a key of the four missing, of another type or
      out of its limits. A number out of range is out of its limits. These hold for the whole document,
      ignored keys and their values included; U+0000 is refused raw and escaped.
      """#,
    "NTF-5":
      #"""
      Other keys are ignored. Those of NTF-20 have a meaning where feature bit 1 is in use; a
      host does not send them where it is not.
      """#,
    "NTF-6":
      #"""
      The host writes the four keys in the order above, without white space, escaping only `"`,
      `\` and control characters (`\b` `\t` `\n` `\f` `\r`, the others as `\u00` and two lower-case
      digits); U+0000 becomes U+FFFD.
      """#,
    "NTF-7":
      #"""
      The host cuts, the device never does: `app` and `title` to their limits, then, until the
      JSON fits in 512 bytes, `text`, then `title`, then `app`; at a boundary of extended grapheme
      clusters (a host without Unicode's tables: of code points), with `…` (U+2026) in place of what was
      cut, counted in the limit.
      """#,
    "NTF-8":
      #"""
      A full store answers 0x11, but see NTF-22 and NTF-25. Only a write that would be stored
      as a new notification is answered so: 0x0D, 0x80 and 0x81 come before it.
      """#,
    "NTF-9":
      #"""
      A device in *firmware* mode cannot refuse: common BLE libraries answer every write of at
      most 512 bytes with success. Where this page says 0x80 or 0x11 it answers success and stores
      nothing. Only the count shows it. It sets none of feature bits 1, 2 and 4.
      """#,
    "NTF-10":
      #"""
      The count is the number of notifications stored and not yet dismissed, from all writers;
      above 65535 it reads 65535. A change of the *value* is notified; 65535 to 65536 changes nothing. All
      that one write does is one change: where as many go as are stored, the value stays and is not
      notified.
      """#,
    "NTF-11":
      #"""
      A notification of Data reports what happened to a stored notification: a JSON object with
      `ev` `"dismissed"` or `"action"`, `item`, the number of the notification in the order in which this
      boot of the device accepted them, from 1, and for an action `act`, its number. Its keys may be in
      any order, with white space and escapes. A host ignores other keys and other values of `ev`. One
      that does not fit in MTU − 3 bytes is not sent, and is counted: truncated JSON is useless to the
      host.
      """#,
    "NTF-12":
      #"""
      The store belongs to the device, not to a bearer; it survives a session, not necessarily
      a restart.
      """#,
    "NTF-20":
      #"""
      Where feature bit 1 is in use on both sides, over BLE, which has no SYN, where the device
      has it, a notification may have these keys too:
      """#,
    "NTF-21":
      #"""
      The identity of a notification is (`src`, `id`). Without the key `src` it is the one of
      the session's latest SYNC, else the SRC of its SYN; `id` without any of the three is refused with
      0x80. Over BLE there is neither, and the key is required.
      """#,
    "NTF-22":
      #"""
      For each of at least 4 `src` the device keeps, since boot, its notifications and *hwm*,
      the highest `id` that was applied by NTF-23, 0 at first. When there is no room for a further `src`,
      the one that was written or synced longest ago is forgotten with all its notifications. A SYNC takes
      a place, too, also when nothing is written after it; the SRC of a SYN takes none. Every write with
      `id` that is answered by success makes its `src` the latest one, also when it changed nothing or
      removed; a refused one does not. A removal (NTF-24) of an unknown `src` takes no place. Where the
      store is full, too, and a further `src` writes, the `src` of longest ago is forgotten first: if that
      frees room, nothing is evicted. If it has nothing stored, NTF-8 and NTF-25 decide, and a write that
      is refused forgets no `src`. With a `src` what is gone of it is forgotten (NTF-26): it is not
      reported again, but an event that was queued before is still sent.
      """#,
    "NTF-23":
      #"""
      A write with `ev` `"a"` or `"m"` is *applied* thus:
      """#,
    "NTF-24":
      #"""
      A write with `ev` `"r"` removes (`src`, `id`) if it is stored, is answered by success
      whether or not it is, leaves hwm as it is, and ends the reports of NTF-26. `rev` is not looked at.
      An event of it that waits to be sent may still be sent. The other strings may be empty; a host sends
      `""` and 0.
      """#,
    "NTF-25":
      #"""
      Instead of 0x11 a full device may *evict*: of the notifications with an identity the
      oldest of those with the lowest `lvl`, if that is lower than the new one's, goes. One without `lvl`
      has level 1; one without identity is not evicted. The oldest is the one accepted first, whatever
      changed since. An expired one that is still stored may be evicted like any other; from then on the
      reason is `"evicted"`.
      """#,
    "NTF-26":
      #"""
      A notification with an identity that was dismissed, evicted or has expired is *gone*, and
      its writer must know. The device reports it by a notification of Data with `ev` `"dismissed"`,
      `"evicted"` or `"expired"`, `id` and `src`, and `item` (NTF-11) if it still knows it: when it
      happens, again before the answer to each SYNC of its `src` (NTF-31), and for each write to it
      (NTF-23), also where it has expired and is still stored, until the host writes `ev` `"r"` for it. It
      remembers at least 64 of them, and forgets the one first that has been gone the longest (for one
      gone in two ways, from either moment); one that it no longer remembers it calls `"dismissed"`; at a
      write to one that is still stored, `"expired"` is right, too. An `id` that was reported because of a
      write alone may be reported again before SYNCED, or not. A write that is answered by an error need
      not report it. Where such an event does not fit (NTF-11) and feature bit 2 is in use, GONE (NTF-30)
      reports it instead. Such a notification of Data goes to every subscribed bearer; a host ignores
      those of another `src`. An action's event carries `id` and `src` as well. Without a subscription to
      Data neither the event nor GONE is sent. GONE is sent for nothing else: not for an action, and not
      for what has no identity. Of what is gone in two ways the later reason is reported.
      """#,
    "NTF-27":
      #"""
      A device that knows the time (CLOCK) hides a notification when its `exp` has come, and no
      longer counts it (NTF-10), but keeps it in n and digest (NTF-32) until the host removes it; it stays
      hidden when it is changed, and when the time is set back. One without identity it forgets. The time
      is the latest CLOCK of any session, brought into the range of `exp`, and goes on by the device's own
      clock, also after that session. A notification whose `exp` has come when it is written is answered
      by success and gets its `item`, but it is never shown, and Count does not change for it, not even
      for a moment. One that replaces a visible one hides it, and Count falls. Where the device does not
      know the time, nothing expires until it does. The zone offset of CLOCK changes nothing. One that has
      expired when it is written needs room in the store like any other (NTF-8, NTF-25).
      """#,
    "NTF-28":
      #"""
      A write of an `id` up to the `known` of the session's latest SYNC, under its `src`, is of
      a *pre-existing* notification: if it is stored, it is shown without being announced.
      """#,
    "NTF-29":
      #"""
      Where the device has feature bit 4, the event of an action (NTF-11) of a notification
      with an identity carries `rev`, too: that of the text that was on the display when the person
      pressed. Between the press and the event another text may have replaced it (NTF-23), and what was
      chosen for the one is no choice for the other.
      """#,
    "NTF-30":
      #"""
      Where feature bit 2 is in use, DATA on channel 0 carries one message each. Of another
      kind, too short, with a reason not listed, or with a `src` (SYNC, GONE, ACTION, TAKEN), `id` or
      `press` of 0: acknowledged, dropped and counted. A longer one is read up to its format's end
      (LNK-3). Kinds 5 and 6 are those of feature bit 4; where it is not in use, they are other kinds.
      """#,
    "NTF-31":
      #"""
      The host sends SYNC when a session has opened and it has subscribed to Data, with no
      write outstanding, and writes nothing until SYNCED. The `src` of SYNC, never 0, is that of the
      session from then on. The device answers each SYNC by one SYNCED, after all that it had to report on
      Data before, and after reporting again what is gone (NTF-26); so what the host has received by then
      is what SYNCED counts.
      """#,
    "NTF-32":
      #"""
      n is the number of notifications of `src` that are stored, and not dismissed or evicted.
      digest is the sum modulo 2⁶⁴, over the same, of splitmix64(`id`·2³² + the CRC-32 (FRM-3) of the JSON
      bytes as they were written), where splitmix64(x) is: z = x + 0x9E3779B97F4A7C15; z = (z xor z≫30) ·
      0xBF58476D1CE4E5B9; z = (z xor z≫27) · 0x94D049BB133111EB; z xor z≫31, all modulo 2⁶⁴. splitmix64(0)
      is 0xE220A8397B1DCDAF.
      """#,
    "NTF-33":
      #"""
      A device that had to drop a notification of Data (ATT-19), or to forget what is gone of
      the session's `src`, or that whole `src` (NTF-22), sends RESYNC, once until the next SYNC. What was
      forgotten of another `src` causes none, also where the SYNC of a new `src` made the device forget
      the one before. Before the first SYNC of a session its `src` is the SRC of its SYN (NTF-21), and
      RESYNC may be left out. A RESYNC that waits when a SYNC is handled need not be sent. The host then
      sends SYNC when no write is outstanding.
      """#,
    "NTF-39":
      #"""
      For each `src` whose latest SYNC, since the device knows the `src` (NTF-22), came in a
      session with feature bit 4 in use, the device *keeps* at least 16 presses: of each `act`, `src`,
      `id`, `rev` as in NTF-29, and `press`, its number. The first press that is kept in a boot has number
      1, each further one, of whatever `src`, one more. Where a `src` has no room for one more, that press
      is refused: nothing is kept, reported or counted, no number is used up, and the device shows the
      person that it was not taken. A press after number 4294967295 is refused as well. What was taken
      before stays. A press stays kept while its notification is replaced, dismissed, evicted, removed or
      expires, until it is released (NTF-41), its `src` is forgotten (NTF-22), or the device restarts,
      also where notifications outlive that.
      """#,
    "NTF-40":
      #"""
      ACTION reports a kept press, in a session with feature bit 4 in use whose latest SYNC had
      the press's `src`: when it happens, and again before the answer to each further SYNC of that `src`
      (NTF-31), as long as it is kept. Between two SYNCs of that `src` each is reported once; one that
      still waits to be sent when a SYNC of another `src` is handled need not be. They are reported in
      rising order of `press`, each before any report that its notification is gone (NTF-26) because of
      what happened after it. ACTION needs no subscription to Data. That session gets no event of NTF-11
      for such a press, except one that waited already when its SYNC was handled, which may be sent, too.
      All other subscribed bearers do, and every bearer for a press that is not kept; the event is sent
      once.
      """#,
    "NTF-41":
      #"""
      TAKEN releases the kept presses of `src` whose number is not above `press`: they are
      neither kept nor reported any more. It may come in any session, also in one that has sent no SYNC or
      that of another `src`. It is not answered, and releases what is kept only; a number that no press
      has yet is no error. Nothing else releases a press: not a higher `rev`, and not a removal (NTF-24),
      which may cross it on the wire or come from a host that has not seen it.
      """#,
    "NTF-34":
      #"""
      If n and digest of SYNCED are not the host's own when it arrives, the host writes again
      what it believes the device holds or may hold: the same bytes, in rising order of `id`, at most
      `capacity` of them, and sends SYNC again. If hwm is not below any `id` that it believes the device
      holds, it may first write only those whose outcome it does not know; else a lower `id` that follows
      would count as gone (NTF-23). After two such rounds it reports that the two differ, and goes on.
      """#,
    "NTF-35":
      #"""
      A memory other than this host's wrote last, because it was lost, restored or copied,
      where
      - hwm is above every `id` that the host has written under `src`,
      - hwm is above 0 in a boot (the boot id of SYNCED) in which the host has written nothing under
        `src`, and n or digest differ, or
      - a write is answered by 0x81.
      """#,
    "NTF-36":
      #"""
      A host that promises exactly once keeps `src`, ids, bytes, answers and the two boot ids
      of NTF-35 where they outlive it, and makes each write durable there before its first byte is sent,
      and before the first in a boot that there is one. Ids of a `src` begin at 1 and rise in the order of
      sending. A write whose outcome is unknown is written again, byte for byte, before any new one. What
      the host knows to have been shown goes under a new `id` with `ev` `"m"`, so that it is not announced
      again.
      """#,
    "NTF-37":
      #"""
      To a device that has not both feature bits 1 and 2 such a host writes the four keys. What
      was answered is done with, also when the device restarts; what has an unknown outcome is written
      once more, which may show it twice.
      """#,
    "NTF-42":
      #"""
      Where feature bit 4 is in use, a host takes presses from ACTION alone, and ignores the
      events of actions of its own `src`. ACTIONs that come before SYNCED wait for it; if the host then
      leaves `src` (NTF-35), they may be another's, and are dropped without TAKEN. Any other press is
      *taken* once:
      """#,
    "NTF-38":
      #"""
      While the device stays up and the session lasts, every write that is answered was applied
      once, in the order sent; bytes lost, changed or added on the wire cost time, not notifications. When
      the session ends, an answered write is in the store if the device has not restarted; an unanswered
      one was applied once or not at all, and the host reports *outcome unknown*: sending it again may
      show it twice, not sending it may lose it. Plain four-key notifications have no identity, so no more
      than that can be promised for them. With identity and SYNC (NTF-20 to NTF-36), and a host that keeps
      its journal, each notification is on the device exactly once until it is dismissed, evicted, expired
      or removed: over any number of lost sessions, restarts of the device and crashes of the host. A
      dismissal that the device could not report before it lost its power is forgotten, and the
      notification shown again. Copies of one journal that take turns at a device are found out and go on
      as two writers (NTF-35): what was given to one of them after the copy was made is kept as promised,
      what was in doubt then may be shown once for each, and what both held is shown once and reported
      gone to one of them. Where a session is lost between the note of a boot (NTF-36) and the first write
      of that boot, and the other copy writes next, the first may get a report that something is gone that
      the display never had. With feature bit 4 a press that the device took is taken by the host once,
      over any number of lost sessions and crashes of the host, and never as a choice for another text
      than the person saw; a restart of the device forgets the presses that no host has taken. A
      notification is never accepted with other bytes than were sent, up to the strength of a CRC-32 and a
      length check under it. After a restart of the device its store is empty unless the firmware keeps
      it; the host sees the restart by the boot id, not by the port. Console text is kept whole but for
      bytes damaged on the wire.
      """#,
  ]
}
