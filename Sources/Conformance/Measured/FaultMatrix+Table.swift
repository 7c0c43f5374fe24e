// swift-format-ignore-file
// Written by scripts/mutants --matrix.

extension FaultMatrix {
  /// A line per case of a device, in the order of a run: its id, its milliseconds over a
  /// pseudo-terminal, `q` if it is one of `--quick`. Then one per fault: the case of its rule,
  /// what is wrong, and the numbers of the cases that fail.
  static let table = #"""
NTF-23/pipelined 14 q
LNK-19/fields-of-rst 14 q
LNK-2/fields-of-every-type 21 q
NTF-22/fifth-source 17 q
NTF-30/gone-expired 21 q
LNK-20/never-answered 11 q
ATT-9/last-handle 16 q
LNK-32/bytes-held 16 q
LNK-7/malformed-syn 16 q
LNK-52/pong 11 q
NTF-24/rev-is-not-looked-at 12 q
NTF-27/without-exp 34 q
LNK-14/ninth-nonce 15 q
FRM-6/one-zero-between 52 q
NTF-11/report-that-just-fits 68 q
LNK-14/two-hosts 10 q
LNK-18/first-critical 10 q
NTF-4/whole-document 18 q
ATT-5/writes-in-order 18 q
ATT-2/characteristics 11 q
LNK-40/credit-of-waiting-requests 30 q
NTF-21/src-ends-with-session 21 q
NTF-3/length-limits 30 q
ATT-15/before-length 14 q
LNK-33/second-hole 15 q
NTF-4/hostile-text 58 q
LNK-41/credit-goes-back 54 q
NTF-23/refused-moves-nothing 19 q
NTF-23/last-rev 19 q
NTF-20/values-taken 32 q
LNK-13/bearer-stays 21 q
ATT-4/profile-hash 8 q
ATT-9/whole-values 36 q
LNK-14/unconfirmed-nonce 9 q
NTF-20/values-refused 117 q
LNK-3/longer-bitmap 61 q
ATT-9/read-by-type-of-values 12 q
NTF-4/not-json 49 q
ATT-14/overlapping-parts 13 q
LNK-19/which-nonce 33 q
NTF-11/numbers-go-on 127 q
NTF-22/removal-takes-no-place 52 q
FRM-10/after-overrun 14 q
ATT-9/long-form-of-a-type 14 q
ATT-2/descriptors 14 q
LNK-8/limits-out-of-range 15 q
ATT-13/513-bytes 15 q
NTF-30/synced-layout 15 q
FRM-10/text-until-zero 15 q
ATT-9/group-ends 15 q
NTF-4/depth 37 q
LNK-12/ranges-of-versions 16 q
LNK-14/every-byte-of-a-nonce 16 q
ATT-14/queue-of-1024-bytes 17 q
LNK-31/ack-outside 17 q
NTF-20/without-id 17 q
NTF-30/long 18 q
FRM-6/whole-window 19 q
ATT-14/events-in-one-execute 42 q
LNK-34/nak-outside 21 q
LNK-50/second-frame 21 q
ATT-8/smaller-of-both 21 q
ATT-15/indication 21 q
NTF-4/equal-keys 253 q
LNK-3/half-a-bitmap 21 q
NTF-5/other-keys 21 q
LNK-20/ten-a-second 47 q
LNK-44/reads-while-shut 21 q
LNK-34/repeated-ack 22 q
LNK-3/shorter-payload 22 q
LNK-32/duplicate 23 q
ATT-3/fresh-parts 23 q
FRM-2/full-block-sent 24 q
FRM-4/541-bytes 24 q
LNK-35/resent-frame 24 q
LNK-12/id-after-each-end 120 q
LNK-50/delayed-ack 26 q
NTF-5/similar-keys 58 q
FRM-2/every-block-length 124 q
NTF-31/while-shut 66 q
FRM-7/impossible-headers 34 q
LNK-42/byte-limit 34 q
LNK-5/type-0 79 q
LNK-23/fresh-sync 86 q
NTF-4/numbers 245 q
ATT-14/empty-value 45 q
NTF-26/without-bit-2 46 q
NTF-2/timestamps 48 q
ATT-16/wrong-lengths 49 q
LNK-32/edge-of-the-window 103 q
LNK-34/nothing-held 158 q
ATT-11/permissions 50 q
ATT-14/full-queue-stays 51 q
LNK-14/refused-nonce 52 q
NTF-30/not-in-use 53 q
NTF-33/forgotten-src 54 q
LNK-33/fresh-hole 57 q
LNK-24/fin-again 205 q
ATT-14/queue-full 66 q
NTF-33/forgotten-gone 288 q
NTF-27/clock-of-64-bits 222 q
NTF-26/due-in-another-session 72 q
LNK-42/credit-below-frames 152 q
NTF-23/change-of-length 78 q
ATT-10/far-offsets 79 q
LNK-31/credit-of-a-bad-ack 85 q
FRM-1/zeros-around 88 q
LNK-13/other-source 88 q
LNK-41/fresh-limit 92 q
LNK-51/oldest-in-time 286 q
ATT-3/waiting-ends 93 q
LNK-42/resends-count-once 94 q
FRM-6/one-bit-wrong 100 q
NTF-23/same-rev-other-bytes 207 q
NTF-27/changed-exp 106 q
NTF-27/zone-offset 107 q
FRM-14/every-length-of-a-write 107 q
LNK-34/many-sendings 225 q
FRM-5/length-disagrees 110 q
NTF-30/bad-messages 342 q
FRM-16/no-echo 112 q
LNK-34/every-bit 112 q
LNK-41/credit-without-progress 112 q
LNK-14/ignored-syns 118 q
LNK-51/measured-fast 125 q
LNK-33/hole-across-the-wrap 125 q
FRM-6/every-size-of-a-read 127 q
LNK-50/taken-later 129 q
LNK-42/bytes-of-each-frame 130 q
LNK-43/unacknowledged-limit 131 q
NTF-4/utf-8 729 q
LNK-31/impossible-acks 156 q
LNK-32/duplicates-alone 170 q
LNK-50/prompt-answers 177 q
LNK-4/udata-not-served 181 q
LNK-44/queues-full 195 q
LNK-32/beyond-the-granted 446 q
FRM-3/wrong-crc 251 q
NTF-4/words 256 q
LNK-33/filled-at-once 286 q
LNK-41/credit-above-64 300 q
LNK-32/out-of-window 361 q
LNK-2/fields-without-effect 361 q
LNK-10/three-hellos-at-wrap 0 q
LNK-5/uptime-of-60-days 0 q
NTF-27/60-days 0 q
FRM-8/slow-frame-at-wrap 0 q
FRM-9/silence-after-each-byte 0 q
LNK-20/any-second-at-wrap 0 q
LNK-51/resend-at-most-2s 0 q
LNK-2/fields-of-log 14 q
LNK-4/long-framed-log 65 q
NTF-9/firmware-mode 54 q
LNK-50/log-is-no-ack 27 q
LNK-13/while-busy 27 q
LNK-4/log-while-offered 138 q
NTF-39/kept-meanwhile 345 q
FRM-14/text-under-load 52 q
NTF-41/ahead 366 q
LNK-50/credit-at-once 121 q
NTF-27/hidden-from-the-user 373 q
NTF-41/two-sources 384 q
NTF-10/saturates 343 q
NTF-41/without-feature 345 q
NTF-40/before-sync 346 q
NTF-29/rev 380 q
NTF-22/presses-hold-no-place 597 q
LNK-24/device-closes-unanswered 649 q
NTF-39/numbers 875 q
LNK-4/framed-log 234 q
ATT-3/fresh-notifications 235 q
FRM-12/overruns 753 q
LNK-14/nonces-since-boot 311 q
LNK-5/boot-count 313 q
FRM-6/first-syn-without-zero 316 q
LNK-9/actions-and-keys 322 q
NTF-22/sync-takes-a-place 330 q
NTF-11/numbers-in-firmware-mode 333 q
LNK-13/sync-stays 334 q
LNK-9/actions-alone 346 q
NTF-30/bad-taken 349 q
NTF-41/fin 355 q
NTF-41/before-sync 356 q
NTF-40/other-src 357 q
NTF-40/at-once 357 q
NTF-27/no-clock 362 q
NTF-40/unsubscribe 363 q
ATT-14/random-walk-of-writes 75 q
NTF-22/random-walk-of-writers 1083 q
NTF-26/random-walk-of-bearers 2393 q
LNK-20/random-walk-of-bursts 0 q
LNK-20/four-answers 1121
LNK-42/fresh-after-waiting 793
LNK-13/goes-on 1213
LNK-51/held-oldest 1853
LNK-51/measured-slow 711
LNK-51/fresh-resend-time 831
LNK-51/no-sample 836
LNK-16/what-confirms 2613
NTF-33/oldest-of-other 884
NTF-22/forgotten-hidden-frees-room 900
LNK-14/any-nonce 931
LNK-20/while-offered 940
LNK-8/bytes-with-limits-out-of-range 984
FRM-8/slow-frame 2021
LNK-13/other-limits 1068
FRM-9/silence 2317
LNK-33/rounds 2350
ATT-19/count-behind-its-writes 1248
LNK-51/anew-when-acknowledged 1266
ATT-19/while-bytes-are-full 1339
LNK-3/any-channel 1422
LNK-20/sliding-second 3078
LNK-5/announced-of-boot 1817
LNK-52/ping-after-silence 2009
LNK-51/resend-doubles 2212
LNK-20/other-sessions 2431
NTF-30/overflow-without-bit 2580
FRM-10/text-after-silence 2616
LNK-51/anew-after-each-nak 2933
LNK-53/down 4419
LNK-16/silent-after-synack 5612
LNK-53/what-keeps-open 5627
LNK-53/foreign-frames 5632
ATT-19/eight-expire 6075
NTF-39/latest-sync 364
NTF-40/busy-line 394
NTF-40/forgotten-src-again 452
NTF-26/forgotten-while-stored 489
NTF-39/new-src 507
NTF-39/own-room 1126
LNK-24/closes-unconfirmed 613
NTF-22/queued-events-are-sent 622
NTF-33/during-sync 1984
LNK-12/random-at-boot 1827
NTF-39/forgotten 1067
NTF-39/evicted 1075
NTF-8/bad-json-first 1137
ATT-3/fresh-events 1172
LNK-10/only-syn-ends 1212
LNK-24/one-fin 2440
LNK-52/while-sending 1238
NTF-39/number-257 1570
LNK-24/next-after-closing 1828
LNK-40/credit-across-the-wrap 1839
LNK-24/closes-under-traffic 3205
FRM-12/candidates 4454
FRM-12/silence 4538
NTF-33/once 5565
LNK-20/any-second 0
LNK-53/alive-by-frames 0
LNK-32/granted-when-handled 0
NTF-27/clock-outlives-session 0
LNK-32/window-across-the-wrap 0
LNK-12/id-wraps 0
LNK-5/uptime 0
LNK-50/delayed-ack-at-wrap 0
LNK-32/out-of-window-at-wrap 0
LNK-51/first-resend-at-wrap 0
LNK-51/resend-doubles-at-wrap 0
LNK-51/measured-fast-at-wrap 0
LNK-51/stays-when-heard-at-wrap 0
LNK-52/ping-after-silence-at-wrap 0
LNK-53/down-at-wrap 0
LNK-53/alive-by-frames-at-wrap 0
LNK-16/silent-after-synack-at-wrap 0
LNK-20/sliding-second-at-wrap 0
FRM-9/silence-at-wrap 0
LNK-51/fresh-backed-off-time 0
LNK-53/what-keeps-nothing-open 0
LNK-14/old-nonce-after-each-end 0
LNK-10/no-more-hellos 0
LNK-51/anew-after-nak 0
LNK-18/from-the-host 0
LNK-53/quiet-after-silence 0
NTF-21/src-key-required 0
NTF-23/over-ble 0
NTF-26/over-ble 0
NTF-27/without-identity 0
NTF-27/out-of-order 0
NTF-27/after-its-session 0
LNK-53/after-down 0
FRM-1/half-frame-from-before 8
FRM-6/boot-garbage-before-syn 8
ATT-1/one-pdu-a-frame 9
LNK-5/texts-announced 9
LNK-8/limits-announced 9
LNK-2/numbers-in-syn-ignored 9
LNK-1/synack-layout 9
LNK-5/known-elsewhere 9
ATT-6/failure-in-between 9
LNK-19/refusals 10
LNK-24/fin 10
ATT-9/find-by-type-value 10
LNK-12/session-id 10
LNK-20/unknown-session 10
LNK-19/which-reason 10
LNK-3/longer-payload 11
LNK-5/unknown-tlv 11
LNK-40/credit-when-handled 11
LNK-14/new-nonce 11
ATT-6/pipelined 11
LNK-19/live-session-stays 11
ATT-14/gap-in-parts 11
FRM-4/longest-pdu 11
ATT-2/primary-service 12
ATT-8/exchange-mtu 12
NTF-24/is-checked 13
ATT-14/long-write 13
NTF-1/stored-and-counted 14
FRM-14/abandoned-frame 14
FRM-11/echo 14
ATT-14/interleaved-parts 14
NTF-21/src-of-syn 15
ATT-14/unsubscribed-after-data 15
LNK-16/half-open 15
ATT-10/read-and-blob 16
ATT-3/new-session 16
ATT-14/subscribed-after-data 16
LNK-32/bytes-with-hole 16
NTF-22/four-sources 17
NTF-20/details-without-identity 17
NTF-1/json-freedoms 17
NTF-32/digest-of-the-page 17
ATT-14/cancelled 17
NTF-20/in-parts 18
ATT-14/empty-after-error 19
NTF-21/src-of-sync 19
NTF-21/src-key 19
LNK-5/every-unknown-type 19
ATT-14/handles-in-turn 19
LNK-31/other-effects 19
LNK-5/every-critical-type 20
ATT-14/cccds-by-handle 20
ATT-3/fresh-mtu 20
ATT-14/order-of-checks 20
ATT-14/bad-flag-empties 20
ATT-9/discovery-errors 20
ATT-18/after-the-response 21
NTF-23/broken-off 21
NTF-12/identity-outlives-session 21
ATT-14/parts-too-long 21
NTF-32/identified-only 21
ATT-16/longer-than-mtu 22
ATT-3/fresh-cccds 22
NTF-1/escapes-and-unicode 22
ATT-12/cccd 24
ATT-15/write-command 24
ATT-14/two-handles 25
LNK-7/twice 25
FRM-6/log-line-inside-a-frame 25
NTF-4/in-parts 25
NTF-24/unknown 25
NTF-23/new-id 25
LNK-13/same-syn-again 26
NTF-23/modified-is-new 26
LNK-19/remembered-nonce 26
NTF-27/clock-without-keys 26
NTF-22/hwm-per-source 26
NTF-20/not-in-use 26
NTF-12/outlives-session 27
ATT-14/empty-parts 27
LNK-14/old-nonces 27
LNK-32/out-of-order 27
FRM-6/text-around 27
FRM-2/long-frames-sent 28
ATT-14/two-handles-refused 28
NTF-31/one-answer-each 28
LNK-14/port-reopened 29
LNK-16/confirmed-by-each 29
FRM-8/overrun-544 29
ATT-16/one-beyond-mtu 29
LNK-32/nothing-twice 30
NTF-21/no-src 30
FRM-4/below-12-bytes 30
NTF-31/two-while-busy 30
NTF-26/without-subscription 31
NTF-12/unplugged 32
LNK-41/no-data-beyond-limit 35
LNK-7/every-length 35
NTF-27/no-flicker 36
NTF-23/answer-lost 36
FRM-6/loss-of-1-to-128-bytes 36
ATT-15/stray-responses 38
LNK-34/nak-bitmap 38
NTF-4/duplicate-keys 38
LNK-34/nak-resends 39
LNK-6/only-required-tlvs 40
NTF-27/expired-when-written 41
FRM-2/block-of-254 43
FRM-4/540-bytes 44
LNK-4/unserved-channels 45
NTF-31/among-requests 46
LNK-35/resent-count 46
FRM-1/literal-syn 47
NTF-24/removed 49
NTF-23/replaced-is-not-gone 50
NTF-26/largest-numbers 53
FRM-14/log-between-frames 53
NTF-28/known-ids 53
NTF-23/old-id-not-stored 53
FRM-1/every-byte-loss 54
FRM-6/one-byte-more-or-less 54
NTF-23/lower-rev 56
LNK-34/lost-again 59
NTF-23/higher-rev 59
NTF-23/same-again 59
LNK-50/answers-without-ack 61
LNK-40/fresh-numbers 62
NTF-4/missing-or-mistyped 62
LNK-14/old-nonce-after-fin 65
ATT-17/not-before-subscription 74
ATT-19/reports-take-no-places 75
LNK-6/no-features 76
LNK-42/fresh-bytes-received 79
ATT-12/unsubscribed-during-sync 80
LNK-7/past-the-end 81
NTF-4/mixed-depth 89
LNK-50/handled-is-reported 95
LNK-33/one-nak-per-round 96
NTF-10/forgotten-by-sync 96
NTF-22/syn-is-no-write 109
LNK-23/fresh-requests 112
NTF-4/white-space 113
NTF-32/of-the-bytes 117
ATT-14/requests-in-between 118
FRM-3/every-bit-flip 128
LNK-32/dropped-bytes 130
LNK-12/id-carries 132
LNK-32/window-with-hole 134
LNK-32/beyond-the-bytes 139
ATT-15/unknown-opcodes 140
LNK-12/many-sessions 143
LNK-52/one-for-each 148
LNK-34/fresh-answers 151
ATT-12/others-stay 158
NTF-26/any-of-several 164
LNK-24/fin-in-each-state 181
LNK-13/hole-stays 181
NTF-22/forgotten-as-a-whole 182
LNK-41/fresh-held-back 189
ATT-6/full-window 192
NTF-33/forgotten-by-new-sync 193
FRM-13/megabytes-of-noise 196
LNK-9/unknown-bits 214
LNK-3/malformed-strays 221
NTF-3/lengths-by-character 228
LNK-33/same-number-later 244
LNK-32/just-the-bytes 247
LNK-33/bitmap-from-ack 259
NTF-20/lengths-by-character 263
LNK-51/first-resend 263
LNK-31/numbers-of-dropped 264
NTF-4/structure 287
NTF-33/second-time 296
LNK-34/first-sending-proves 297
LNK-20/session-before-reboot 311
LNK-2/fields-of-hello 313
LNK-12/boot-id-after-reboot 314
NTF-33/sync-comes-first 317
NTF-12/after-reboot 320
LNK-13/sends-on 322
NTF-11/dismissed 329
NTF-26/of-its-src 330
NTF-26/unsubscribed 330
NTF-11/event-too-long 330
NTF-23/in-its-place 331
NTF-11/action 331
NTF-26/at-once 331
NTF-26/between-sessions 332
NTF-32/over-a-life 334
LNK-42/fresh-bytes-sent 335
NTF-26/action 335
NTF-26/beyond-mtu 336
NTF-24/ends-the-notifications 337
ATT-19/data-in-order 342
NTF-11/items-once 345
NTF-26/without-sync 345
LNK-41/limit-across-the-wrap 347
NTF-31/behind-events 352
NTF-26/all-dismissed 353
NTF-11/behind-one-that-does-not-fit 354
NTF-41/nothing-else 355
NTF-11/event-that-just-fits 357
NTF-26/plain-session 365
NTF-26/at-a-write 367
NTF-26/at-each-sync 372
NTF-4/escapes 376
NTF-31/behind-a-dismissal 378
NTF-26/only-gone-in-gone 383
NTF-40/at-each-sync 387
NTF-41/taken 404
NTF-4/cut-off 451
NTF-33/of-another-src 457
LNK-30/numbers-wrap 463
ATT-18/event-behind-the-answer 559
LNK-23/nothing-into-new-session 610
LNK-51/resend-stops 613
NTF-22/since-boot 625
ATT-12/change-waits 627
NTF-22/what-is-a-write 633
ATT-12/unsubscribing-drops 649
FRM-16/all-values 672
ATT-19/behind-an-answer 676
ATT-19/counts-become-one 691
LNK-35/present-numbers 786
LNK-34/resend-across-the-wrap 830
NTF-8/answers-when-full 850
NTF-22/forgotten-frees-room 875
NTF-9/full-store 880
LNK-51/resends-all 911
LNK-10/refused-syn 912
LNK-10/syn-stops-hellos 917
NTF-11/action-numbers 925
LNK-51/held-spared 925
NTF-39/sixteen 926
NTF-39/not-in-use 926
ATT-17/what-waits-at-the-end 940
ATT-19/eight-wait 951
ATT-12/subscribed-again 953
LNK-16/nothing-due 998
LNK-10/three-hellos 1012
LNK-52/ping-in-time 1012
LNK-4/long-log 1026
FRM-12/every-byte 1096
LNK-32/beyond-the-credit 1116
LNK-52/ping-while-waiting 1121
NTF-25/order 1188
LNK-2/session-of-syn 1225
NTF-25/replaced-keeps-its-age 1256
LNK-51/doubling-ends 1266
NTF-26/remembers-64 1266
NTF-33/gone-of-another-src 1290
NTF-33/gone-of-another-src-first 1296
LNK-20/refusals-do-not-count 1518
NTF-8/store-full 1585
NTF-25/full 1604
LNK-51/resend-in-time 1634
NTF-27/forgotten-makes-room 1639
LNK-51/from-sending 1846
NTF-11/numbers-of-accepted 2076
NTF-26/evicted-64 2130
NTF-22/refused-forgets-none 2315
LNK-20/across-sessions 2340
NTF-22/refused-keeps-the-oldest 2365
LNK-51/stays-when-heard 2412
FRM-9/short-pause 2579
LNK-24/quiet-after-fin 2806
NTF-31/behind-waiting 3459
FRM-12/at-once 5464
NTF-27/expires 5542
NTF-27/later-clock 9835
NTF-8/random-walk 1076
NTF-31/random-walk-of-syncs 1092
NTF-27/random-walk-of-expiry 1095
ATT-13/513-bytes	does not accept 512 bytes	46,50,113,187,424
ATT-13/513-bytes	accepts 513 bytes	46,152,188,237,341,507,509,552,553
ATT-16/longer-than-mtu	does not accept a PDU as long as the MTU	14,78,86,116,135,187,189,293,304,308,330,334,341,343,365,371,376,552,553,554
ATT-16/longer-than-mtu	accepts a PDU longer than the MTU	187,334,343,371
ATT-10/read-and-blob	refuses a Read Blob at the end of the value	104,187,190,316
ATT-10/read-and-blob	returns an empty value beyond the end of a value	104,187,316
ATT-14/cancelled	writes the parts at Execute 0	135,187,324
ATT-14/two-handles-refused	writes the CCCDs before Data at Execute	58,187,318,366
ATT-12/cccd	accepts the bit of indications in a CCCD	187,335,346,366
ATT-12/cccd	accepts a CCCD of more than 2 bytes	187,333,346
ATT-12/cccd	checks only the first byte of a CCCD	187,346
ATT-14/random-walk-of-writes	Execute Write of both CCCDs uses the value of the first for both	14,187,189
ATT-15/write-command	answers unknown commands	187,347
ATT-17/what-waits-at-the-end	notifies Count after the end of the subscription	187,210,314,501,517
ATT-12/subscribed-again	drops a pending change of Count when 1 is written to its CCCD again	187,189,338,435,499,519
ATT-18/after-the-response	the notification of Count that an Execute Write causes is queued before its response; that of a Write Request is not	187,338,495
ATT-19/count-behind-its-writes	a waiting notification of Count keeps its place when its value becomes that of a later write, so the value stands before the response to that write	18,208,210,501
ATT-17/not-before-subscription	notifies Count before the subscription	0,11,156,168,178,184,185,187,188,189,200,226,278,318,352,396,403,411,462,464,468,475,477,484,489,508,536,542,552,553,554
ATT-17/what-waits-at-the-end	notifies Data after the end of the subscription	58,501,517
ATT-14/two-handles-refused	writes Data before it has checked the CCCDs at Execute	187,366
ATT-11/permissions	allows reads of Data	36,91,187,290
NTF-11/dismissed	notifies Data before the subscription	58,188,189,376,462,464,552,553,554
ATT-14/empty-parts	a part without bytes is error 0x04	85,107,116,187,361
ATT-11/permissions	puts another opcode into an error	0,6,17,19,21,22,23,25,27,28,30,32,34,36,37,38,43,46,50,55,85,87,88,91,92,98,103,104,113,152,187,188,189,200,237,284,290,293,303,305,307,316,326,333,334,335,336,337,341,343,346,351,361,366,371,373,385,403,409,431,507,508,509,527,529,535,536,538,540,541,542,544,552,553,554
ATT-11/permissions	puts no handle into an error	0,6,17,19,21,22,25,27,28,32,34,36,37,38,43,46,50,55,85,87,91,92,98,103,104,113,152,187,188,189,200,237,290,293,303,305,307,316,326,333,335,337,341,346,351,361,366,373,385,403,409,507,508,509,527,529,535,536,538,540,541,542,544,552,553,554
ATT-18/event-behind-the-answer	an event of Data that a write causes, such as that of an evicted notification, is sent before the response of that write, so the host reads it as older than its write	110,435,495,501,527,536
NTF-11/event-that-just-fits	does not notify Data of MTU − 3 bytes	14,481,483
NTF-11/event-that-just-fits	notifies Data of MTU − 2 bytes	14,483
ATT-19/eight-wait	notifies Data in the wrong order	189,217,481,518
ATT-16/wrong-lengths	accepts any flag at Execute	88,187,336
ATT-14/unsubscribed-after-data	Execute Write keeps queued notifications when it ends a subscription	58,187,314
ATT-19/counts-become-one	notifies Count with its first value	18,189,208,210,503,504,548
ATT-14/empty-after-error	allows the first part to begin anywhere	187,326,333,335,361
ATT-9/discovery-errors	reads any type by group	6,337
ATT-2/primary-service	ends the service at 0xFFFF	6,32,43,293,305
ATT-11/permissions	has one attribute too many	91,187
ATT-14/handles-in-turn	a part for another handle ends the value of the previous one	187,312,330
ATT-3/new-session	keeps the CCCDs over a lost session	101,187,188,189,317,344,552,553,554
ATT-3/new-session	keeps the MTU over a lost session	4,86,187,317,334,465,473,477,489
ATT-3/new-session	keeps the prepare queue over a lost session	71,187,317
ATT-13/513-bytes	answers a value that is too long with 0x04	46,85,152,187,188,189,237,333,341,346,361,507,509,552,553,554
ATT-8/exchange-mtu	answers Exchange MTU with the smaller of the two	187,306
ATT-8/smaller-of-both	accepts an MTU below 23	61,187
ATT-8/smaller-of-both	uses the larger MTU of the two	14,61,371,481,483
ATT-8/exchange-mtu	changes the MTU at a second Exchange MTU	61,187,306
ATT-9/discovery-errors	answers a search without a match with 0x01	19,32,43,293,305,337,371
ATT-15/unknown-opcodes	answers unsupported requests with 0x04	23,431
ATT-18/after-the-response	notifies Count before the response of the write	18,110,187,208,338,435,495,501
ATT-14/gap-in-parts	answers a gap with 0x0D	38,92,104,187,303,316,326,333,335,361
ATT-19/eight-wait	drops the oldest queued notification of Data	224,518
ATT-12/cccd	has one CCCD for both characteristics	14,49,187,189,346
ATT-2/characteristics	answers a search with one entry although more fit	19,36,44,49,61,306
ATT-14/gap-in-parts	writes parts with gaps	38,92,187,303,326,333,335,361
ATT-16/wrong-lengths	puts a handle into the error for a wrong PDU	88,187,284,336
ATT-16/one-beyond-mtu	a Prepare Write of MTU + 1 bytes is accepted	187,334,371
ATT-14/queue-of-1024-bytes	accepts 1023 bytes of parts	53,135
ATT-14/empty-after-error	keeps the parts after a failed Execute	85,187,189,326,333,335,336,366
ATT-15/stray-responses	answers a response	187,383
ATT-19/eight-wait	queues at most 7 notifications of Data	217,224,518
ATT-14/queue-full	accepts only 7 parts	53,85,98,187,189,502
ATT-12/subscribed-again	drops the queued events when 1 is written to the CCCD of Data again	14,189,435,495,519
ATT-14/subscribed-after-data	Execute Write subscribes before it writes Data, and notifies that write	58,187,318
ATT-17/not-before-subscription	notifies Count at the subscription	101,110,162,167,187,188,189,217,224,318,393,411,415,435,462,465,488,495,501,507,517,519,548,552,553,554
LNK-23/fresh-sync	an unanswered SYNC blocks the requests of the next session	83,189
ATT-1/one-pdu-a-frame	handles only one request of a frame with two	88,187,284
ATT-11/permissions	answers an unknown handle with 0x0A	6,91,187,290,337
ATT-15/unknown-opcodes	does not answer unknown requests	23,425,431
ATT-14/requests-in-between	a Write Request empties the prepare queue	187,314,425
ATT-11/permissions	answers a write that is not permitted with 0x02	91,187,371
FRM-4/below-12-bytes	does not accept the shortest frame	1,2,8,9,13,15,20,24,26,35,40,59,60,64,67,68,69,71,74,75,76,79,81,83,90,93,94,96,97,99,101,102,105,106,107,108,110,111,117,118,121,122,127,128,129,131,133,134,135,136,137,139,140,142,146,147,148,151,153,154,155,167,169,170,171,189,190,191,192,194,196,197,199,202,203,204,205,208,210,211,212,213,214,216,217,218,220,221,222,223,224,226,231,232,233,238,240,241,243,244,245,246,247,248,249,250,256,261,262,263,264,265,266,268,269,270,271,272,273,274,281,292,295,299,300,310,331,334,340,344,350,354,356,360,362,363,364,369,372,374,375,378,382,384,386,387,393,398,401,402,404,407,408,410,414,415,419,422,426,427,429,433,434,435,437,438,440,445,449,452,455,469,471,478,481,488,494,495,497,499,501,503,504,505,506,514,517,518,519,520,523,524,526,528,531,533,534,537,539,541,543,545,546,547,548,549
FRM-4/540-bytes	does not accept the longest frame	7,35,57,126,136,192,319,390,414,427,437,448,546
FRM-4/541-bytes	accepts a frame of 541 bytes	73,246,549
FRM-3/wrong-crc	accepts the bytes between two zeros as a frame, whatever their CRC	13,112,137,190,239,246,426
FRM-2/long-frames-sent	ends a block after 253 bytes	72,78,81,116,135,151,169,187,304,341,365,503,537
FRM-4/540-bytes	gives up a candidate at its 543rd byte	7,35,57,126,136,171,192,319,390,414,427,448,546
FRM-10/text-after-silence	after silence a new candidate begins	218,247
FRM-3/wrong-crc	the last byte of the CRC is not compared: 24 of its 32 bits are checked	13,112,137,190,246
FRM-2/long-frames-sent	the CRC of a sent frame covers the payload length modulo 256, so a frame with a payload of 256 bytes or more has a wrong one	78,81,116,135,151,169,187,304,341,365,503,537
FRM-3/wrong-crc	the CRC of a frame without payload is not compared, so a PING, ACK or FIN with a changed header is taken	13,112,137,190,426
FRM-11/echo	accepts its own frames	13,190,221,223,246,265,269,311,524
FRM-1/zeros-around	sends no zero after a frame	1,2,5,8,9,12,13,16,20,26,33,35,39,40,42,48,51,52,59,60,62,64,68,69,73,75,76,80,82,89,90,93,106,112,116,117,118,121,123,127,133,134,137,141,142,143,149,151,153,159,167,174,188,189,190,191,193,194,201,205,207,209,210,211,212,215,216,217,220,224,239,240,241,243,245,251,253,256,257,259,263,266,270,271,272,282,283,287,289,291,292,296,310,311,331,332,340,347,350,356,360,362,364,369,370,372,374,379,382,383,384,386,391,394,398,401,402,404,407,410,418,419,426,429,437,443,455,465,469,478,481,497,504,521,534,543,548,550,551,552,553,554
FRM-12/every-byte	does not count text that follows a candidate	171,246,247,524,549
FRM-5/length-disagrees	does not compare the length field	13,118,246
FRM-5/length-disagrees	the length field of ACK, PING, PONG, RST and FIN is not compared with the decoded length, because their payload may be longer than its format	13,118
FRM-14/log-between-frames	prints its log into its frames	150,151,153,155,169,398,523
LNK-4/long-log	loses what does not fit in one piece of its log	151,523
FRM-2/block-of-254	does not accept the longer form of a final block	78,116,389
FRM-9/silence	keeps half a frame forever	147,206,247,267
FRM-1/zeros-around	sends no zero before a frame, so that two frames share one	106,155,169,398
FRM-10/after-overrun	begins a new candidate after an overrun, without a zero	42,171
FRM-6/every-size-of-a-read	a read of one byte is lost	126,146,171,204,549
FRM-2/long-frames-sent	loses the tail of a write that the line did not accept at once	72,78,81,116,135,151,155,169,187,189,304,341,365,503,523,537
FRM-9/silence	gives up half a frame after 2.1 s	206,267
FRM-8/slow-frame	gives up half a frame after 400 ms	146,204,546
FRM-9/silence-after-each-byte	checks for silence only when the length field is known	147,247
FRM-8/slow-frame	silence counts from the first byte of a candidate	146,204
FRM-12/at-once	passes text on only at the end of a line	171,247,549
FRM-10/text-until-zero	searches for a frame after text without a zero between them	48,246,350,549
FRM-7/impossible-headers	accepts frames of type 12	80,198,246,549
FRM-14/every-length-of-a-write	a write whose length is a multiple of 64 holds its last byte back until the next	116,190
LNK-20/ten-a-second	sends 11 RSTs in a second	66,148,212,249,266,543
LNK-50/delayed-ack	acknowledges after 50 ms	76,127,133,153,190,256,418
LNK-50/second-frame	acknowledges only each third frame at once	60,133
LNK-40/credit-when-handled	acknowledges a frame only when it was handled	20,60,133,136,159,190,192,244,299,414,418,430,448,505,525,526
LNK-2/fields-of-every-type	ACK carries a number in seq	2,190
LNK-30/numbers-wrap	ack reads 255 where it is 0 after 255	78,494
LNK-19/refusals	opens a session without a common version	1,51,75,93,107,190,205,291,356,511,548
LNK-31/ack-outside	drops the payload of a frame with an impossible ack	54,190
LNK-31/credit-of-a-bad-ack	accepts the credit of a frame with an impossible ack	105,190
LNK-41/no-data-beyond-limit	sends DATA without credit	26,105,108,140,142,189,190,205,217,224,378,387,452,478,481,501,548
LNK-32/beyond-the-bytes	accepts frames beyond the granted bytes	136,430,448
LNK-34/nothing-held	treats a bitmap of 0 as a request for nothing	90,190
LNK-12/random-at-boot	the boot id is a hash of the clock at the start of the link, so it is the same at each boot that takes equally long	143,156,158,160,161,162,163,164,165,166,168,172,173,174,175,176,177,178,179,180,181,182,183,184,185,186,188,189,201,225,226,227,228,229,230,232,233,234,235,236,237,238,239,242,248,255,456,457,458,460,461,462,463,464,465,466,467,468,469,470,472,473,474,475,476,477,479,480,481,482,483,484,485,486,488,489,490,491,498,511,512,513,515,516,517,518,519,521,527,531,532,533,535,536,538,542,552,553,554
LNK-24/device-closes-unanswered	never ends a closing session unless the host answers	167,245
LNK-40/credit-when-handled	grants one frame less than it announced	2,20,57,83,89,127,136,159,170,190,192,244,251,253,299,408,418,422,429,430,434,440,448,494,505,520,522,525,526
LNK-40/credit-when-handled	grants credit before a frame was handled	20,136,159,190,244,299,418,505,525,526
LNK-19/refusals	ignores unknown critical TLVs	1,16,39,75,93,107,123,190,205,221,223,265,291,296,302,332,356,407,438,528,534,548
LNK-44/reads-while-shut	receives no frames while an answer waits for credit	20,67,127,136,190,192,208,495,499,501,505,517,519,526
LNK-53/down	ends a session after 4 s	190,220,263
LNK-53/down	ends a session after 8 s	97,190,220,223,263,269,270,271,273,274
LNK-32/dropped-bytes	counts the bytes of dropped frames as used	7,427
LNK-3/shorter-payload	accepts DATA without payload	69,190,198,216,223,269,445,452
LNK-14/old-nonce-after-fin	forgets the nonces with a FIN, so that an old SYN opens a session again	75,190,270,271,410
LNK-24/fin	does not answer FIN	2,40,190,191,211,216,270,271,292,331,340,360,369,410,437,469,543,547
LNK-24/fin	continues after FIN	2,71,75,83,93,96,97,108,110,155,170,190,192,196,211,213,216,238,240,268,270,271,292,331,334,344,356,408,410,414,422,434,437,440,445,471,528,546,547
LNK-16/confirmed-by-each	drops the DATA that confirms a session	33,190,369
LNK-53/foreign-frames	frames of another session keep a session open	223,269
LNK-10/three-hellos	sends HELLO four times	143,239,521
LNK-34/repeated-ack	retransmits on a repeated ACK	68,190,209,372,429
LNK-3/half-a-bitmap	treats half a bitmap as none	64,190,198,223,269,445,452
LNK-32/duplicates-alone	a number that is 128 ahead or more is dropped without an answer	132,141,190,253,257
LNK-40/fresh-numbers	the number of handled frames outlives its session	83,170,190,192,207,244,253,408,429,434,435,440,448,501,520,552
LNK-50/handled-is-reported	does not report that a frame was handled	127,418
LNK-10/three-hellos	sends HELLO every 300 ms	143,521
LNK-10/no-more-hellos	sends HELLO again when a session is lost	190,271
LNK-10/syn-stops-hellos	continues with HELLO after a SYN	193,198,221,240,253,265,271,511,512
LNK-33/hole-across-the-wrap	the distance of a received number is not modulo 256	125,207,253,429
LNK-33/fresh-hole	the requested hole outlives its session	96,190
LNK-33/same-number-later	mistakes a hole for one that was requested 256 frames before	133,190,447
LNK-18/from-the-host	an RST from the host ends the session	5,142,167,223,273
LNK-12/id-after-each-end	reuses the id of a session that FIN has ended	75,190,191,528
LNK-12/id-after-each-end	a SYN with a new nonce gets the id of the session before if the host had sent no frame in that one	75,190,254,428
LNK-14/ignored-syns	makes the nonce of an ignored SYN the latest one	123,190,548
LNK-32/just-the-bytes	drops a frame that fills the granted bytes exactly	136,192,448
LNK-41/no-data-beyond-limit	treats LIMITS as credit	26,105,108,142,189,190,217,224,378,452,481,548
LNK-41/credit-goes-back	lets the limit decrease	26,101,110,140,189,190,205,208,217,224,233,274,369,415,435,481,488,495,499,501,517,518,519,520,547,548
LNK-41/fresh-limit	the limit of a session applies before the first frame of the next one	108,140,189,190,203,205,210,217,224,452,481,501,548
LNK-41/credit-goes-back	sends one DATA frame more than the credit	26,128,140,189,190,203,205,217,224,387,471,478,501,548
LNK-8/limits-out-of-range	does not clamp the limits of a SYN	45,203
LNK-4/long-log	control characters other than line feed and tab are lost from the log, such as carriage return and the escapes of colours	155,169,523
LNK-4/long-log	log bytes above 0x7F are lost, because a signed byte is compared with zero	151,155,169,523
LNK-4/framed-log	puts its log into frames that the host does not read	157,169,398,523
LNK-4/framed-log	prints its log as console text although the host reads it in frames	150,151,169
LNK-7/malformed-syn	accepts any magic	8,39
LNK-53/what-keeps-nothing-open	a malformed frame keeps a session open	190,198,223,269
LNK-34/nak-bitmap	retransmits on a bitmap all frames that it does not name	35,117,121,190,384,404,449,455
LNK-34/nak-outside	retransmits on a NAK with an impossible ack	59,131,190
LNK-34/nak-bitmap	reads the bitmap of a NAK from ack on	35,90,121,190,194,272,384,404,449,514
LNK-33/one-nak-per-round	sends NAK for each early frame	24,190,207,419,438
LNK-34/nak-resends	does not know NAK	26,35,59,74,90,117,118,121,131,137,190,194,211,272,384,386,393,404,455,506,514
LNK-34/nothing-held	skips, on a NAK without bitmap, the frames that a bitmap named before	90,117
LNK-33/filled-at-once	a NAK that was due when its hole was filled is sent all the same, with the next number	139,190
LNK-51/anew-after-nak	a retransmission for a NAK does not restart the resend timer	190,219,272
LNK-14/ninth-nonce	remembers nine nonces	12,123,190
LNK-43/unacknowledged-limit	keeps 9 unacknowledged frames	129,504
LNK-42/byte-limit	ignores the host's byte limit	81,102,111,128,203,205,471
LNK-14/old-nonces	remembers no nonce	12,33,75,107,123,167,190,201,205,270,271,362,410,438,548
LNK-20/unknown-session	does not answer frames of another session	1,2,15,71,75,83,93,96,97,108,110,148,155,167,170,190,191,192,196,202,211,212,213,216,220,221,223,231,238,240,245,249,263,265,266,268,269,273,281,292,295,300,331,334,344,356,407,408,414,422,434,437,440,445,456,471,528,534,543,546,547
LNK-14/old-nonces	remembers 7 nonces	12,123,190,362
LNK-16/silent-after-synack	lets a session time out before its first frame	190,221,265,273
LNK-1/synack-layout	answers with another nonce	0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65,66,67,68,69,70,71,72,73,74,75,76,77,78,79,80,81,82,83,84,85,86,87,88,89,90,91,92,93,94,95,96,97,98,99,100,101,102,103,104,105,106,107,108,109,110,111,112,113,114,115,116,117,118,119,120,121,122,123,124,125,126,127,128,129,130,131,132,133,134,135,136,137,138,139,140,141,142,143,144,145,146,147,148,149,150,151,152,153,154,155,156,157,158,159,160,161,162,163,164,165,166,167,168,169,170,171,172,173,174,175,176,177,178,179,180,181,182,183,184,185,186,187,188,189,190,191,192,193,194,195,196,197,198,199,200,201,202,203,204,205,206,207,208,209,210,211,212,213,214,215,216,217,218,219,220,221,222,223,224,225,226,227,228,229,230,231,232,233,234,235,236,237,238,239,240,241,242,243,244,245,246,247,248,249,250,251,252,253,254,255,256,257,258,259,260,261,262,263,264,265,266,267,268,269,270,271,272,273,274,278,279,280,281,282,283,284,285,286,287,288,289,290,291,292,293,294,295,296,297,298,299,300,301,302,303,304,305,306,307,308,309,310,311,312,313,314,315,316,317,318,319,320,321,322,323,324,325,326,327,328,329,330,331,332,333,334,335,336,337,338,339,340,341,342,343,344,345,346,347,348,350,351,352,353,354,355,356,357,358,359,360,361,362,363,364,365,366,367,369,370,371,372,373,374,375,376,378,379,380,381,382,383,384,385,386,387,388,389,390,391,392,393,394,395,396,397,398,399,400,401,402,403,404,405,406,407,408,409,410,411,412,413,414,415,417,418,419,420,421,422,423,424,425,426,427,428,429,430,431,432,433,434,435,436,437,438,439,440,441,442,443,444,445,446,447,448,449,450,451,452,453,454,455,456,457,458,459,460,461,462,463,464,465,466,467,468,469,470,471,472,473,474,475,476,477,478,479,480,481,482,483,484,485,486,487,488,489,490,491,492,493,494,495,496,497,498,499,500,501,502,503,504,505,506,507,508,509,510,511,512,513,514,515,516,517,518,519,520,521,522,523,524,525,526,527,528,529,530,531,532,533,534,535,536,537,538,539,540,541,542,543,544,545,546,547,548,549,550,551,552,553,554
LNK-32/out-of-window	answers frames outside the window every 5 ms	141,257
LNK-32/out-of-window	does not answer a frame outside the window	89,132,136,141,190,244,253,257,430,448,525
LNK-52/ping-after-silence	sends PING after 3 s	193,214,241,262,522
LNK-52/ping-after-silence	sends PING once	214,262
LNK-52/pong	answers PONG	9,190
LNK-40/credit-when-handled	counts received frames in PONG	20,127,136,192,244,299,505,526
LNK-34/first-sending-proves	treats a held frame as evidence from its last sending, not from its first	117,455
LNK-19/which-reason	checks for critical TLVs before it checks whether the SYN is well formed	1,39,296
LNK-19/live-session-stays	ends the live session when it refuses a SYN	8,93,107,123,190,191,205,221,223,265,302,356,407,438,534,548
LNK-20/four-answers	the RST to a refused SYN replaces the one to an earlier refused SYN that still waits to be sent	190,191
LNK-19/fields-of-rst	a refused SYN is answered with an RST of the live session	1,39,190,191,528
LNK-20/refusals-do-not-count	refused SYNs count among the ten RSTs of a second	191,534
LNK-14/refused-nonce	remembers the nonce of a SYN without a common version	93,190
LNK-51/first-resend	retransmits after 150 ms without a measurement	109,193,196,197,258,268,272,451
LNK-51/measured-fast	retransmits after 50 ms, measured	124,190,260,539
LNK-51/first-resend	retransmits after 600 ms without a measurement	109,193,196,258,268,272,451,510,537
LNK-51/held-spared	retransmits on its timer the frames that a bitmap named	194,514
LNK-51/resend-doubles	does not double the resend timer	149,215,259
LNK-51/resends-all	retransmits only the oldest frame	131,232,455,506,510,514
LNK-51/stays-when-heard	doubles the resend timer although frames are received	194,261,545
LNK-35/resent-frame	retransmits a frame with an old ack	74,190,505
LNK-33/rounds	compares with the requested number, not with the last one out of order	190,207
LNK-19/fields-of-rst	the RST to a malformed SYN lacks the NONCE	1,39,190,191,356
LNK-20/any-second	sends 10 RSTs in half a second	148,212,249,266
LNK-20/sliding-second	the ten RSTs are counted in each second of the clock	148,212,266
LNK-20/never-answered	answers a FIN of another session	5,97,190
LNK-20/never-answered	answers a PONG of another session	5,190
LNK-20/unknown-session	sends RST with its own session	1,15,190,191,202,216,221,265,295,300,445,456
LNK-20/never-answered	an RST ends its session	5,142,167,190,223,273
LNK-20/unknown-session	sends RST without BOOT_ID	1,2,39,190,291,295,456
LNK-19/refusals	refuses a SYN without its nonce	1,39,190,191,291,356,528
LNK-20/across-sessions	counts the RSTs of each session separately	66,543
LNK-20/any-second-at-wrap	the second of the ten RSTs never ends if the clock wraps in it	148,266
LNK-51/fresh-resend-time	the measured resend time outlives its session	196,219,268
LNK-23/fresh-requests	requests of an ended session are answered in the next one	190,192,414,422,520
LNK-12/session-id	gives each session the same id	15,52,75,97,190,191,202,254,294,300,428,432,528,547
LNK-13/same-syn-again	restarts the numbers when the same SYN is repeated	30,107,123,178,190,193,354,407,548
LNK-13/bearer-stays	a repeated SYN ends the subscriptions	30,107,461,548
LNK-13/sends-on	waits for a frame of the session again when its SYN is repeated	190,461
LNK-53/down	its own frames keep a session open	97,190,220,223,263,269,270,271,273,274,281
LNK-23/nothing-into-new-session	sends unsent frames of a session in the next one	35,90,101,121,170,188,189,190,196,197,238,268,274,339,381,413,434,440,455,496,520,537,552,553,554
LNK-42/fresh-bytes-sent	the bytes that the host had not handled count in the next session	102,190,203,205,471
LNK-20/other-sessions	drops frames with session 0 and sends no RST	190,202,216
LNK-20/other-sessions	compares only the low byte of the session	190,216
LNK-7/malformed-syn	accepts a TLV that is one byte short	1,8,39,289,379
LNK-14/old-nonce-after-each-end	forgets the nonces of a session that timed out	75,190,270,271
LNK-16/silent-after-synack	sends before the session's first frame	155,190,198,221,231,265,273,528
LNK-14/new-nonce	serves the session before the live one	15,97,190,202,216,300
LNK-1/synack-layout	announces one frame more than it accepts	2,20,57,83,89,127,136,159,170,190,192,244,251,253,288,299,408,418,422,429,430,434,440,448,494,505,520,522,525,526
LNK-32/out-of-order	accepts an early frame	2,7,24,89,96,125,133,190,207,251,253,319,363,369,372,419,429,437,438,447
LNK-51/anew-when-acknowledged	does not restart the resend timer when ack advances	190,209
LNK-51/first-resend-at-wrap	timers compare times, not differences: wrong when the 32-bit clock wraps	143,146,256,257,258,259,260,261,262,263,264,266,267
LNK-7/past-the-end	a TLV that runs one byte past the end is cut	82,416
LNK-7/malformed-syn	accepts a duplicate TLV	8,39,93,107,205,349,356,548
LNK-52/one-for-each	answers each PING with two PONGs	9,13,20,69,147,190,244,310,350,362,364,382,401,419,426,433,520,534
LNK-19/which-reason	treats 0x85 as FEATURES	16,39,82,296,329,332
LNK-53/what-keeps-open	UDATA does not keep a session open	198,222
LNK-5/every-unknown-type	type 02 is treated as NONCE	39,329
LNK-42/fresh-bytes-received	unhandled bytes of a session count in the next one	192,414
LNK-4/unserved-channels	does not acknowledge DATA on a channel that it does not serve	2,7,24,57,60,67,74,76,78,89,96,125,126,133,136,139,153,159,190,192,207,222,244,251,253,256,319,363,369,389,390,391,407,414,418,427,429,430,437,438,447,448,525
LNK-5/uptime	UPTIME is the clock, whenever the device was started	144,255
LNK-5/uptime	UPTIME is in seconds	144,213,255
LNK-32/edge-of-the-window	treats the frame after the window as one out of order	89,132,190,207,253
NTF-4/not-json	answers a write before it was applied, whatever its result	0,17,21,22,25,27,28,34,37,46,50,55,63,77,84,85,87,91,103,113,130,138,152,187,188,189,200,208,237,307,346,371,373,385,403,409,417,423,446,450,453,487,492,500,507,508,509,527,529,535,536,538,540,541,542,544,552,553,554
NTF-3/length-limits	does not accept an app of 64 bytes	22,446
NTF-4/structure	parses an array as an object if an object of the same depth precedes it	84,138,453
NTF-8/store-full	stores one notification less than it announced	99,188,189,237,527,535,536,538,542,552,553,554
NTF-27/changed-exp	keeps an exp that a change omits	114,189,552
NTF-27/changed-exp	a change keeps the old exp	99,110,114,188,189,279,495,529,551,552,553,554
NTF-8/random-walk	a change to a lower level keeps the higher one	188,189,527,552,553,554
NTF-22/forgotten-as-a-whole	changes the notification of another writer with the same id	41,188,189,232,439,552,553,554
NTF-26/all-dismissed	does not report notifications that were dismissed with all the others	160,480
NTF-27/clock-of-64-bits	begins before 1970 with a negative CLOCK	100,252
NTF-27/after-its-session	sets the clock forward, by the length of the session, when one ends	145,188,189,280,553,554
NTF-27/clock-outlives-session	forgets the time with the session	14,145,188,189,252,280,551,552,553,554
NTF-27/after-its-session	stops the clock between two sessions	145,280
NTF-4/not-json	answers an invalid notification with 0x0D	17,21,22,25,27,34,37,50,55,63,77,84,85,87,130,138,187,188,189,237,307,351,366,373,385,409,417,423,446,450,453,487,492,507,552,553,554
NTF-4/not-json	accepts a comma before the end of an object	37,189,453,552
NTF-11/numbers-go-on	assigns a number to a change that it refuses	40,188,189,540,552,553,554
NTF-4/hostile-text	accepts an unescaped control character	25,130
ATT-17/not-before-subscription	sends Count with the most significant byte first	18,187,188,189,208,210,338,411,435,462,499,503,504,519,550,551,552,553,554
NTF-10/saturates	counts its own store only	162,241,503,504,519
NTF-4/depth	does not accept 8 levels	50,417
NTF-23/higher-rev	keeps the digest of the first content	0,27,28,103,113,188,189,237,405,424,439,470,550,552,553,554
NTF-32/of-the-bytes	the digest leaves out the white space after the closing brace, though it is that of the bytes as they were written	113,424
NTF-32/digest-of-the-page	omits the id from the digest	0,3,11,21,27,28,29,41,103,113,119,160,188,189,237,307,313,320,323,325,327,328,339,340,342,352,353,355,358,367,373,381,388,395,399,400,403,405,406,424,439,468,469,470,472,488,498,527,536,550,552,553,554
NTF-32/digest-of-the-page	combines a digest with xor	0,11,27,29,113,160,188,189,323,340,352,353,358,373,381,388,399,405,406,424,439,470,488,498,527,536,550,552,553,554
NTF-4/escapes	does not accept f as a hexadecimal digit	63,446,450,487
NTF-26/due-in-another-session	what a SYNC had still to report when its session ended is reported at the next SYNC, of whatever src	101,189
NTF-4/hostile-text	accepts any character after a backslash	25,487
NTF-20/values-refused	treats any ev as an addition	34,188,189,552
NTF-25/full	reports evicted notifications as dismissed	188,189,527,529,536,541,552,553,554
NTF-25/order	treats a changed notification as younger	40,165,188,189,225,466,482,507,527,529,540,552,553,554
NTF-25/full	evicts a notification of the same level	188,189,200,507,508,527,529,536,540,541,544,552,553,554
NTF-25/order	evicts the first of the lowest level in memory	189,527,552,553,554
NTF-22/random-walk-of-writers	evicts although forgetting the oldest src makes room	188,200
NTF-25/full	evicts the newest	188,189,507,527,529,536,552,553,554
NTF-25/order	evicts an older one of a higher level	188,189,527,552,553,554
NTF-25/full	evicts a notification without identity	188,189,507,527,536,542,552,553,554
NTF-20/values-taken	accepts exp up to 2147483647	29,100,188,189,252,321,552,553,554
NTF-27/expires	counts expired notifications	11,100,107,114,115,145,185,188,189,200,252,279,280,357,380,388,435,548,550,551,552,553,554
NTF-27/expires	removes expired notifications from n and digest	11,114,160,188,189,200,388,436,439,550,552,553,554
NTF-27/forgotten-makes-room	an expired notification without identity keeps its room in the store	188,189,538,552,553,554
NTF-27/without-identity	counts an expired notification without identity	11,188,189,278,279,280,380,538,551,552,553,554
NTF-27/expires	shows an expired notification again when it is changed	188,189,550,552,553,554
NTF-27/expires	does not report expired notifications	4,11,14,40,58,86,99,100,101,110,114,145,160,185,188,189,199,217,224,279,280,357,376,388,397,412,415,435,436,439,495,529,548,550,551,552,553,554
NTF-27/without-exp	hides a notification a second after its exp	11,100,107,114,145,188,189,217,224,252,278,279,280,357,388,548,550,551,552,553,554
NTF-27/expires	hides a notification one second late	11,100,114,252,357,388,550
NTF-27/without-exp	expires notifications without exp	11,14,99,100,114,160,188,189,200,210,228,279,280,435,439,488,495,507,527,529,538,551,552,553,554
NTF-27/after-its-session	stops waiting for the next exp when the session ends	145,189,280
NTF-11/numbers-in-firmware-mode	assigns a number to an invalid notification in firmware mode	177,535
NTF-9/firmware-mode	in firmware mode a long write of Data is still refused with 0x80 or 0x11; only a Write Request is not	152,509
NTF-9/firmware-mode	refuses in firmware mode	152,177,509
NTF-27/out-of-order	waits for one expiry only, the one of the first in memory	189,279,280,551,554
NTF-22/fifth-source	forgets a writer but not its notifications	3,95,176,188,439,508
NTF-22/forgotten-as-a-whole	forgets the gone notifications of another writer	188,439
NTF-22/forgotten-as-a-whole	forgets only every second of consecutive gone notifications together with their src	188,439,507
NTF-4/not-json	accepts a form feed as white space	37,423
NTF-8/bad-json-first	a full store answers 0x11 to an invalid notification	188,189,237,507,552,553,554
NTF-8/store-full	answers a full store with 0x80	188,189,200,237,507,508,527,529,535,536,538,540,541,542,544,552,553,554
NTF-8/store-full	uses up an item number for a write that finds the store full	188,189,535,540,552,553,554
NTF-26/remembers-64	remembers 63 gone notifications	99,531,533,541
NTF-26/at-a-write	does not report at a write that a notification is gone	14,188,189,228,395,400,436,485,495,529,552,553,554
NTF-26/beyond-mtu	what is gone is reported after SYNCED at MTU 23, where it takes GONE; so SYNCED does not count one whose end the host does not know yet	4,473,489
NTF-26/any-of-several	finds only the first of the gone notifications	188,189,436,529,552,553,554
NTF-25/order	reports the first of two reasons for which a notification is gone	188,189,527,529,552,553,554
NTF-26/only-gone-in-gone	sends GONE for an action	189,489
NTF-26/remembers-64	forgets the second latest gone notification instead of the oldest	99,531,533
NTF-26/beyond-mtu	reports nothing if the event does not fit	4,14,189,473,489
NTF-26/of-its-src	reports at SYNC the gone notifications of every writer	101,188,189,463,548,552,553,554
NTF-22/forgotten-as-a-whole	mistakes gone notifications of another writer for its own	188,189,439,533,548,552,553,554
NTF-26/at-each-sync	forgets the gone notifications with the session	14,101,110,114,145,156,188,189,280,357,415,469,486,531,551,552,553,554
NTF-26/at-each-sync	reports only once that a notification is gone	4,11,14,58,99,101,110,114,145,156,160,185,188,189,224,280,357,376,397,412,415,436,439,463,464,469,473,474,480,486,489,527,531,533,536,541,548,550,551,552,553,554
NTF-26/without-sync	sends GONE although SYNC is not in use	86,189,477
NTF-26/at-once	omits the item when it reports a gone notification	40,165,189,248,463,466,468,472,477,480,484,513
NTF-20/values-refused	accepts a group of 17 bytes	34,189,450,554
NTF-4/hostile-text	accepts half a surrogate pair	17,25,487
NTF-27/random-walk-of-expiry	a change that raises the level of an expired notification shows it again	188,189,553,554
NTF-24/removed	a removal decreases hwm	10,328,395,495,500,542,544,553,554
NTF-23/same-again	stores the id of hwm once more	0,27,28,40,63,77,84,103,107,113,114,130,175,188,189,237,325,339,340,381,395,403,406,417,423,424,436,446,450,453,482,485,487,492,495,500,540,552,553,554
NTF-22/hwm-per-source	has one hwm for all writers	21,188,189,342,358,439,544,552,553,554
NTF-31/random-walk-of-syncs	SYNCED contains hwm 0 for a src without notifications	10,188,189,328,470,485,500,542,544,552,553
NTF-20/values-refused	accepts id 0	34,188,189,552,553,554
NTF-11/items-once	reuses an item number	40,166,188,189,227,228,229,232,476,480,535,540,552,553,554
NTF-4/duplicate-keys	accepts a duplicate key that is written in two ways	63,385
NTF-4/duplicate-keys	accepts a duplicate key	34,63,188,189,385,552,554
NTF-20/not-in-use	uses the optional keys although they are not in use	65,359
NTF-20/values-refused	accepts a label of 25 bytes	34,450
NTF-20/values-taken	does not accept 4 labels	29,188,189,552,553,554
NTF-20/values-refused	accepts 5 labels	34,554
NTF-2/timestamps	accepts a number with a leading zero	17,34,84,87
NTF-3/length-limits	counts escapes as they are written in the JSON	22,29,446,450
NTF-23/change-of-length	a shorter change keeps the length of the notification that it replaces	103,189,552,553,554
NTF-20/values-refused	accepts level 4	27,34,40,188,237,500,507,553,554
NTF-32/identified-only	counts in n the notifications of every writer	3,21,188,189,200,320,327,328,342,358,373,439,544,552,553,554
NTF-27/expires	hides expired notifications only at the next write	107,145,188,189,217,224,252,278,279,280,548,550,551,552,553,554
NTF-11/action	omits the number of the action	164,165,168,183,189,225,227,248,467,472,479,484,513,516,519
NTF-33/once	does not send RESYNC when it drops an event	233,248
NTF-21/no-src	accepts an id without a src	21,189,373,552
NTF-4/hostile-text	accepts U+0000	17,25,189,552
NTF-2/timestamps	a number with very many digits wraps modulo 2^64 and is accepted when the rest is in range	34,87
NTF-23/old-id-not-stored	stores an id up to hwm that is not stored	14,40,188,189,395,400,470,485,495,500,529,540,552,553,554
NTF-31/two-while-busy	answers two SYNCs at once with one SYNCED	79,375,415,548
NTF-23/same-rev-other-bytes	answers other bytes of the same rev with 0x80	0,27,28,103,113,188,189,237,403,507,552,553,554
NTF-23/same-rev-other-bytes	compares the length of two revs, not their bytes	0,113,188,189,552,553,554
NTF-23/same-rev-other-bytes	mistakes other bytes of the same rev for the same	0,27,103,113,188,189,237,500,507,552,553,554
NTF-5/other-keys	refuses unknown keys	29,50,63,65,77,84,130,138,359,385,417,423,424,453,492
NTF-3/lengths-by-character	counts 3 bytes for a pair of escapes	63,446,450
NTF-26/plain-session	a session without the optional keys gets no events of notifications with an identity	189,484
NTF-11/numbers-go-on	assigns a number to a refused notification	40,177,188,189,535,540,552,553,554
NTF-22/refused-forgets-none	a write that a full store refuses forgets the oldest src	188,542,544
NTF-25/full	moves hwm for a refused notification	188,189,237,507,536,541,552,553,554
NTF-22/what-is-a-write	counts a refused change as a write of its src	188,500
NTF-24/ends-the-notifications	still reports removed notifications	188,189,436,474,541,552,553,554
NTF-22/what-is-a-write	does not count a removal as a write of its src	188,493,500
NTF-24/rev-is-not-looked-at	removes by a higher rev only	10,188,189,237,424,436,470,550,552,553,554
NTF-22/removal-takes-no-place	assigns a place to an unknown src that only removes	41,188
NTF-24/unknown	refuses the removal of a missing notification	14,40,41,188,189,237,352,395,495,500,552,553,554
NTF-23/in-its-place	assigns a new number to a replaced notification	40,165,188,189,225,466,482,507,527,529,540,552,553,554
NTF-33/once	sends RESYNC for each event that it drops	99,248,454
NTF-33/gone-of-another-src-first	when the memory of what is gone is full, RESYNC goes to the session of the `src` of the next oldest entry instead of that of the forgotten one	199,533
NTF-23/lower-rev	keeps 8 bits of rev	28,165,184,188,189,403,552,553,554
NTF-23/lower-rev	answers a lower rev with success	0,28,188,189,237,403,507,552,553,554
NTF-23/last-rev	lets rev wrap	28,188,189,552,553,554
NTF-20/without-id	accepts rev without id	55,188,189,552,553,554
NTF-22/what-is-a-write	does not count repeated bytes as a write of its src	188,439,500
NTF-4/not-json	accepts JSON with trailing data	37,423,453,492
NTF-21/src-key	ignores the key src	3,95,99,168,176,188,189,248,328,342,358,439,463,480,500,513,533,540,542,548,552,553,554
NTF-21/src-of-syn	ignores the SRC of a SYN	0,4,10,11,14,21,27,28,29,40,58,86,100,101,103,107,110,113,114,115,119,145,156,160,165,175,188,189,217,224,225,228,233,237,248,252,279,280,307,313,323,325,339,340,342,352,353,355,357,376,380,388,393,395,396,397,400,403,405,406,412,415,420,424,435,436,463,464,466,468,469,470,472,473,474,477,479,480,484,485,486,488,489,495,498,501,516,527,529,531,532,533,536,540,550,551,552,554
NTF-21/src-of-sync	does not use the src of a SYNC for the session	41,95,99,101,161,188,189,230,280,327,367,373,381,399,442,498,531,552,553,554
NTF-21/src-ends-with-session	keeps the src of a session for the next	21,189,373,552
NTF-12/outlives-session	forgets its notifications with the session	4,11,110,114,145,156,163,164,176,184,187,188,189,217,224,225,233,280,281,317,339,340,357,360,381,465,469,473,477,481,483,484,486,488,489,490,516,517,518,519,531,532,538,548,551,552,553,554
NTF-22/fifth-source	ignores a SYNC when it chooses the writer to forget	3,176,188
NTF-30/not-in-use	answers SYNC although it is not in use	94,179,413
NTF-22/random-walk-of-writers	a SYNC with known 0 does not make its src the latest	3,176,188
NTF-26/at-each-sync	answers SYNC before it reports the gone notifications	4,11,14,58,99,101,110,114,145,156,160,185,188,189,224,280,357,376,412,415,436,439,463,464,469,473,474,480,486,489,527,531,533,536,541,548,550,551,552,553,554
NTF-30/synced-layout	puts its remaining room into SYNCED	47,188,189,552,553,554
NTF-31/behind-waiting	answers SYNC before it has sent the queued notifications	189,488,548
NTF-31/behind-a-dismissal	SYNCED counts what was stored when its SYNC came, not when SYNCED is sent	189,488
NTF-31/while-shut	answers two SYNCs with one SYNCED when the first answer has to wait	79,415,548
NTF-4/missing-or-mistyped	accepts a notification without text	77,409
NTF-22/four-sources	keeps only three writers	3,41,176,320,442,500,513,542
NTF-2/timestamps	accepts a timestamp of 4294967296	27,34,40,87,188,237,307,500,507,552,553,554
NTF-2/timestamps	accepts a timestamp with a fraction	34,87,553
NTF-11/report-that-just-fits	an event that does not fit in the MTU is sent without its item instead of as GONE	14,189
NTF-4/utf-8	refuses U+40000 and others that begin with F1 to F4 and a byte below 90	63,130,446,450
NTF-1/stored-and-counted	answers success and stores nothing	11,18,22,40,46,50,65,70,87,152,177,187,188,189,208,210,237,238,248,278,279,280,308,309,317,318,321,322,330,338,342,345,348,359,385,411,460,461,462,465,467,475,476,480,481,483,489,499,513,517,518,519,527,535,536,538,540,542,552,553,554
NTF-40/at-each-sync	A further SYNC releases the presses that the session has reported, as if it were their acknowledgement.	156,158,161,180,235,236,482,490,491,515
NTF-39/not-in-use	Kept actions are in use in every session with SYNC, whether or not the SYN has set bit 4.	163,165,189,225,233,248,516
NTF-40/at-once	Kept presses are reported behind SYNCED.	156,158,161,163,164,180,181,182,183,184,225,226,235,236,482,490,491,515
NTF-39/kept-meanwhile	Kept presses are reported behind the reports of what is gone.	156,226
NTF-41/nothing-else	A notification that is replaced by a higher rev loses its kept presses: they are stale anyway.	156,225,482
NTF-39/sixteen	The number of a press is drawn before the check for room, so a refused press uses one up.	230,515
NTF-39/not-in-use	Once a src was synced with bit 4 its presses are kept indefinitely, also after a SYNC in a session without the bit.	225,516
NTF-41/nothing-else	The removal of a notification releases its kept presses.	156,482
NTF-39/latest-sync	A SYNC in a session without bit 4 releases the kept presses of its src.	163,225
NTF-41/two-sources	TAKEN is heeded only for the src of the session's latest SYNC.	161,182
NTF-41/taken	TAKEN releases the press with that number only, not those below it.	158,242,491
NTF-39/sixteen	TAKEN sets the session's mark of what was reported: a lower one makes later presses be reported twice between two SYNCs, a higher one suppresses new ones.	158,515
NTF-41/taken	TAKEN with a number that no press has yet is dropped as a bad message and releases nothing.	158,491
NTF-39/numbers	A write that stores decides whether presses of its src are kept, not only a SYNC.	168,227,229
NTF-33/gone-of-another-src	RESYNC is sent also where what was forgotten of the gone was of another src.	99,199,532,533
FRM-1/literal-syn	The CRC begins at 0	0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65,66,67,68,69,70,71,72,73,74,75,76,77,78,79,80,81,82,83,84,85,86,87,88,89,90,91,92,93,94,95,96,97,98,99,100,101,102,103,104,105,106,107,108,109,110,111,112,113,114,115,116,117,118,119,120,121,122,123,124,125,126,127,128,129,130,131,132,133,134,135,136,137,138,139,140,141,142,143,144,145,146,147,148,149,150,151,152,153,154,155,156,157,158,159,160,161,162,163,164,165,166,167,168,169,170,171,172,173,174,175,176,177,178,179,180,181,182,183,184,185,186,187,188,189,190,191,192,193,194,195,196,197,198,199,200,201,202,203,204,205,206,207,208,209,210,211,212,213,214,215,216,217,218,219,220,221,222,223,224,225,226,227,228,229,230,231,232,233,234,235,236,237,238,239,240,241,242,243,244,245,246,247,248,249,250,251,252,253,254,255,256,257,258,259,260,261,262,263,264,265,266,267,268,269,270,271,272,273,274,278,279,280,281,282,283,284,285,286,287,288,289,290,291,292,293,294,295,296,297,298,299,300,301,302,303,304,305,306,307,308,309,310,311,312,313,314,315,316,317,318,319,320,321,322,323,324,325,326,327,328,329,330,331,332,333,334,335,336,337,338,339,340,341,342,343,344,345,346,347,348,349,350,351,352,353,354,355,356,357,358,359,360,361,362,363,364,365,366,367,369,370,371,372,373,374,375,376,378,379,380,381,382,383,384,385,386,387,388,389,390,391,392,393,394,395,396,397,398,399,400,401,402,403,404,405,406,407,408,409,410,411,412,413,414,415,416,417,418,419,420,421,422,423,424,425,426,427,428,429,430,431,432,433,434,435,436,437,438,439,440,441,442,443,444,445,446,447,448,449,450,451,452,453,454,455,456,457,458,459,460,461,462,463,464,465,466,467,468,469,470,471,472,473,474,475,476,477,478,479,480,481,482,483,484,485,486,487,488,489,490,491,492,493,494,495,496,497,498,499,500,501,502,503,504,505,506,507,508,509,510,511,512,513,514,515,516,517,518,519,520,521,522,523,524,525,526,527,528,529,530,531,532,533,534,535,536,537,538,539,540,541,542,543,544,545,546,547,548,549,550,551,552,553,554
FRM-2/block-of-254	A block ends after 253 bytes	7,22,35,46,50,56,57,72,77,78,81,84,103,113,116,126,130,135,136,147,151,152,169,187,188,189,192,237,246,304,319,341,365,389,390,414,417,423,424,427,446,448,453,487,507,509,537,552,553,554
FRM-5/length-disagrees	The payload length counts the CRC	0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65,66,67,68,69,70,71,72,73,74,75,76,77,78,79,80,81,82,83,84,85,86,87,88,89,90,91,92,93,94,95,96,97,98,99,100,101,102,103,104,105,106,107,108,109,110,111,112,113,114,115,116,117,118,119,120,121,122,123,124,125,126,127,128,129,130,131,132,133,134,135,136,137,138,139,140,141,142,143,144,145,146,147,148,149,150,151,152,153,154,155,156,157,158,159,160,161,162,163,164,165,166,167,168,169,170,171,172,173,174,175,176,177,178,179,180,181,182,183,184,185,186,187,188,189,190,191,192,193,194,195,196,197,198,199,200,201,202,203,204,205,206,207,208,209,210,211,212,213,214,215,216,217,218,219,220,221,222,223,224,225,226,227,228,229,230,231,232,233,234,235,236,237,238,239,240,241,242,243,244,245,246,247,248,249,250,251,252,253,254,255,256,257,258,259,260,261,262,263,264,265,266,267,268,269,270,271,272,273,274,278,279,280,281,282,283,284,285,286,287,288,289,290,291,292,293,294,295,296,297,298,299,300,301,302,303,304,305,306,307,308,309,310,311,312,313,314,315,316,317,318,319,320,321,322,323,324,325,326,327,328,329,330,331,332,333,334,335,336,337,338,339,340,341,342,343,344,345,346,347,348,349,350,351,352,353,354,355,356,357,358,359,360,361,362,363,364,365,366,367,369,370,371,372,373,374,375,376,378,379,380,381,382,383,384,385,386,387,388,389,390,391,392,393,394,395,396,397,398,399,400,401,402,403,404,405,406,407,408,409,410,411,412,413,414,415,416,417,418,419,420,421,422,423,424,425,426,427,428,429,430,431,432,433,434,435,436,437,438,439,440,441,442,443,444,445,446,447,448,449,450,451,452,453,454,455,456,457,458,459,460,461,462,463,464,465,466,467,468,469,470,471,472,473,474,475,476,477,478,479,480,481,482,483,484,485,486,487,488,489,490,491,492,493,494,495,496,497,498,499,500,501,502,503,504,505,506,507,508,509,510,511,512,513,514,515,516,517,518,519,520,521,522,523,524,525,526,527,528,529,530,531,532,533,534,535,536,537,538,539,540,541,542,543,544,545,546,547,548,549,550,551,552,553,554
LNK-1/synack-layout	Length and session are sent most significant byte first	0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65,66,67,68,69,70,71,72,73,74,75,76,77,78,79,80,81,82,83,84,85,86,87,88,89,90,91,92,93,94,95,96,97,98,99,100,101,102,103,104,105,106,107,108,109,110,111,112,113,114,115,116,117,118,119,120,121,122,123,124,125,126,127,128,129,130,131,132,133,134,135,136,137,138,139,140,141,142,143,144,145,146,147,148,149,150,151,152,153,154,155,156,157,158,159,160,161,162,163,164,165,166,167,168,169,170,171,172,173,174,175,176,177,178,179,180,181,182,183,184,185,186,187,188,189,190,191,192,193,194,195,196,197,198,199,200,201,202,203,204,205,206,207,208,209,210,211,212,213,214,215,216,217,218,219,220,221,222,223,224,225,226,227,228,229,230,231,232,233,234,235,236,237,238,239,240,241,242,243,244,245,246,247,248,249,250,251,252,253,254,255,256,257,258,259,260,261,262,263,264,265,266,267,268,269,270,271,272,273,274,278,279,280,281,282,283,284,285,286,287,288,289,290,291,292,293,294,295,296,297,298,299,300,301,302,303,304,305,306,307,308,309,310,311,312,313,314,315,316,317,318,319,320,321,322,323,324,325,326,327,328,329,330,331,332,333,334,335,336,337,338,339,340,341,342,343,344,345,346,347,348,349,350,351,352,353,354,355,356,357,358,359,360,361,362,363,364,365,366,367,369,370,371,372,373,374,375,376,378,379,380,381,382,383,384,385,386,387,388,389,390,391,392,393,394,395,396,397,398,399,400,401,402,403,404,405,406,407,408,409,410,411,412,413,414,415,416,417,418,419,420,421,422,423,424,425,426,427,428,429,430,431,432,433,434,435,436,437,438,439,440,441,442,443,444,445,446,447,448,449,450,451,452,453,454,455,456,457,458,459,460,461,462,463,464,465,466,467,468,469,470,471,472,473,474,475,476,477,478,479,480,481,482,483,484,485,486,487,488,489,490,491,492,493,494,495,496,497,498,499,500,501,502,503,504,505,506,507,508,509,510,511,512,513,514,515,516,517,518,519,520,521,522,523,524,525,526,527,528,529,530,531,532,533,534,535,536,537,538,539,540,541,542,543,544,545,546,547,548,549,550,551,552,553,554
LNK-30/numbers-wrap	DATA is numbered from 1	0,2,3,4,5,6,7,9,10,11,12,13,14,17,18,19,20,21,22,23,24,25,26,27,28,29,30,32,33,34,35,36,37,38,40,41,42,43,44,45,46,47,48,49,50,53,54,55,56,57,58,59,61,62,63,64,65,66,67,68,69,70,71,72,73,74,77,78,79,80,81,83,84,85,86,87,88,89,90,91,92,93,94,95,96,97,98,99,100,101,102,103,104,105,106,107,108,109,110,111,112,113,114,115,116,117,118,119,120,121,122,123,124,125,126,127,128,129,130,131,132,134,135,137,138,140,141,142,145,147,149,150,152,156,157,158,159,160,161,162,163,164,165,166,167,168,170,172,175,176,177,178,179,180,181,182,183,184,185,186,187,188,189,190,191,192,193,194,195,196,197,199,200,201,202,203,205,206,207,208,209,210,211,215,216,217,218,219,224,225,226,227,228,229,230,231,232,233,235,236,237,238,240,241,242,243,244,245,248,252,257,258,259,260,261,267,268,271,272,273,274,278,279,280,281,284,290,292,293,297,298,299,301,302,303,304,305,306,307,308,309,310,311,312,313,314,315,316,317,318,319,320,321,322,323,324,325,326,327,328,329,330,333,334,335,336,337,338,339,340,341,342,343,344,345,346,347,348,350,351,352,353,354,355,356,357,358,359,360,361,363,364,365,366,367,369,370,371,372,373,374,375,376,378,379,380,381,382,383,384,385,386,387,388,391,392,393,395,396,397,398,399,400,401,402,403,404,405,406,408,409,410,411,412,413,415,417,418,419,420,421,422,423,424,425,426,427,429,430,431,432,434,435,436,437,438,439,440,441,442,443,444,445,446,447,448,449,450,451,452,453,454,455,459,460,461,462,463,464,465,466,467,468,469,470,471,472,473,474,475,476,477,478,479,480,481,482,483,484,485,486,487,488,489,490,491,492,493,494,495,496,497,498,499,500,501,502,503,504,505,506,507,508,509,510,513,514,515,516,517,518,519,520,522,525,526,527,528,529,530,531,532,533,535,536,537,538,539,540,541,542,544,545,546,547,548,550,551,552,553,554
LNK-30/numbers-wrap	ack is the last number received, not the next one expected	0,2,3,4,5,6,7,9,10,11,12,13,14,17,18,19,20,21,22,23,24,25,26,27,28,29,30,32,33,34,35,36,37,38,40,41,42,43,44,45,46,47,48,49,50,53,54,55,56,57,58,59,60,61,62,63,64,65,66,67,68,69,70,71,72,73,74,76,77,78,79,80,81,83,84,85,86,87,88,89,90,91,92,93,94,95,96,97,98,99,100,101,102,103,104,105,106,107,108,109,110,111,112,113,114,115,116,117,118,119,120,121,122,123,124,125,126,127,128,129,130,131,132,133,134,135,136,137,138,139,140,141,142,145,147,149,150,152,153,156,157,158,159,160,161,162,163,164,165,166,167,168,170,172,175,176,177,178,179,180,181,182,183,184,185,186,187,188,189,190,191,192,193,194,195,196,197,199,200,201,202,203,205,206,207,208,209,210,211,215,216,217,218,219,222,224,225,226,227,228,229,230,231,232,233,235,236,237,238,240,241,242,243,244,245,248,251,252,253,256,257,258,259,260,261,267,268,271,272,273,274,278,279,280,281,284,290,292,293,297,298,299,301,302,303,304,305,306,307,308,309,310,311,312,313,314,315,316,317,318,319,320,321,322,323,324,325,326,327,328,329,330,333,334,335,336,337,338,339,340,341,342,343,344,345,346,347,348,350,351,352,353,354,355,356,357,358,359,360,361,363,364,365,366,367,369,370,371,372,373,374,375,376,378,379,380,381,382,383,384,385,386,387,388,389,390,391,392,393,395,396,397,398,399,400,401,402,403,404,405,406,407,408,409,410,411,412,413,414,415,417,418,419,420,421,422,423,424,425,426,427,429,430,431,432,434,435,436,437,438,439,440,441,442,443,444,445,446,447,448,449,450,451,452,453,454,455,459,460,461,462,463,464,465,466,467,468,469,470,471,472,473,474,475,476,477,478,479,480,481,482,483,484,485,486,487,488,489,490,491,492,493,494,495,496,497,498,499,500,501,502,503,504,505,506,507,508,509,510,513,514,515,516,517,518,519,520,522,525,526,527,528,529,530,531,532,533,535,536,537,538,539,540,541,542,544,545,546,547,548,550,551,552,553,554
LNK-40/credit-when-handled	credit counts the frame that is being acknowledged	2,20,26,83,101,105,108,110,111,122,127,140,142,159,170,189,190,192,203,205,208,210,211,217,224,233,244,274,299,378,408,415,418,422,430,434,435,440,448,452,459,478,481,488,494,495,499,501,505,517,518,519,520,522,525,526,539,547,548
LNK-34/nak-bitmap	Bit i of a NAK is the frame ack + i	7,24,35,90,96,117,121,125,190,194,207,272,319,363,369,384,404,419,429,437,438,447,449,455,514
LNK-52/pong	PONG counts the frame that is to be handled next	9,20,67,83,170,190,192,244,299,408,422,429,434,435,440,494,501,520,526
LNK-52/pong	PING and PONG have each other's type numbers	1,2,5,9,13,15,20,26,35,59,64,67,68,71,75,83,90,93,96,97,107,108,110,117,121,122,131,133,136,142,147,148,155,167,170,188,189,190,191,192,193,194,196,198,202,211,212,213,214,216,220,221,222,223,224,231,238,240,241,244,245,249,252,262,263,265,266,268,269,271,272,273,278,279,280,281,292,295,299,300,310,331,334,344,350,356,364,369,382,384,386,401,404,407,408,414,422,426,429,433,434,435,437,440,445,452,455,471,494,501,504,505,520,522,526,528,534,543,546,547,550,552,553,554
LNK-12/session-id	An answer carries the nonce plus one	0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65,66,67,68,69,70,71,72,73,74,75,76,77,78,79,80,81,82,83,84,85,86,87,88,89,90,91,92,93,94,95,96,97,98,99,100,101,102,103,104,105,106,107,108,109,110,111,112,113,114,115,116,117,118,119,120,121,122,123,124,125,126,127,128,129,130,131,132,133,134,135,136,137,138,139,140,141,142,143,144,145,146,147,148,149,150,151,152,153,154,155,156,157,158,159,160,161,162,163,164,165,166,167,168,169,170,171,172,173,174,175,176,177,178,179,180,181,182,183,184,185,186,187,188,189,190,191,192,193,194,195,196,197,198,199,200,201,202,203,204,205,206,207,208,209,210,211,212,213,214,215,216,217,218,219,220,221,222,223,224,225,226,227,228,229,230,231,232,233,234,235,236,237,238,239,240,241,242,243,244,245,246,247,248,249,250,251,252,253,254,255,256,257,258,259,260,261,262,263,264,265,266,267,268,269,270,271,272,273,274,278,279,280,281,282,283,284,285,286,287,288,289,290,291,292,293,294,295,296,297,298,299,300,301,302,303,304,305,306,307,308,309,310,311,312,313,314,315,316,317,318,319,320,321,322,323,324,325,326,327,328,329,330,331,332,333,334,335,336,337,338,339,340,341,342,343,344,345,346,347,348,350,351,352,353,354,355,356,357,358,359,360,361,362,363,364,365,366,367,369,370,371,372,373,374,375,376,378,379,380,381,382,383,384,385,386,387,388,389,390,391,392,393,394,395,396,397,398,399,400,401,402,403,404,405,406,407,408,409,410,411,412,413,414,415,417,418,419,420,421,422,423,424,425,426,427,428,429,430,431,432,433,434,435,436,437,438,439,440,441,442,443,444,445,446,447,448,449,450,451,452,453,454,455,456,457,458,459,460,461,462,463,464,465,466,467,468,469,470,471,472,473,474,475,476,477,478,479,480,481,482,483,484,485,486,487,488,489,490,491,492,493,494,495,496,497,498,499,500,501,502,503,504,505,506,507,508,509,510,511,512,513,514,515,516,517,518,519,520,521,522,523,524,525,526,527,528,529,530,531,532,533,534,535,536,537,538,539,540,541,542,543,544,545,546,547,548,549,550,551,552,553,554
LNK-12/session-id	SYNACK has the session id with its bytes swapped	0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,17,18,19,20,21,22,23,24,25,26,27,28,29,30,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,53,54,55,56,57,58,59,60,61,62,63,64,65,66,67,68,69,70,71,72,73,74,75,76,77,78,79,80,81,83,84,85,86,87,88,89,90,91,92,93,94,95,96,97,98,99,100,101,102,103,104,105,106,107,108,109,110,111,112,113,114,115,116,117,118,119,120,121,122,123,124,125,126,127,128,129,130,131,132,133,134,135,136,137,138,139,140,141,142,145,146,147,149,150,151,152,153,154,155,156,157,158,159,160,162,163,164,165,166,167,168,169,170,171,172,175,176,177,178,179,180,181,182,183,184,185,186,187,188,189,190,191,192,193,194,195,196,197,198,199,200,201,202,203,204,205,206,207,208,209,210,211,212,214,215,216,217,218,219,220,221,222,223,224,225,226,227,228,229,230,231,232,233,235,236,237,238,240,241,242,243,244,245,246,247,248,250,251,252,253,254,256,257,258,259,260,261,262,263,264,265,266,267,268,269,270,271,272,273,274,278,279,280,281,284,290,291,292,293,294,295,296,297,298,299,300,301,302,303,304,305,306,307,308,309,310,311,312,313,314,315,316,317,318,319,320,321,322,323,324,325,326,327,328,329,330,331,332,333,334,335,336,337,338,339,340,341,342,343,344,345,346,347,348,350,351,352,353,354,355,356,357,358,359,360,361,362,363,364,365,366,367,369,370,371,372,373,374,375,376,378,379,380,381,382,383,384,385,386,387,388,389,390,391,392,393,395,396,397,398,399,400,401,402,403,404,405,406,407,408,409,410,411,412,413,414,415,417,418,419,420,421,422,423,424,425,426,427,428,429,430,431,432,433,434,435,436,437,438,439,440,441,442,443,444,445,446,447,448,449,450,451,452,453,454,455,459,460,461,462,463,464,465,466,467,468,469,470,471,472,473,474,475,476,477,478,479,480,481,482,483,484,485,486,487,488,489,490,491,492,493,494,495,496,497,498,499,500,501,502,503,504,505,506,507,508,509,510,513,514,515,516,517,518,519,520,522,523,524,525,526,527,528,529,530,531,532,533,534,535,536,537,538,539,540,541,542,543,544,545,546,547,548,549,550,551,552,553,554
LNK-1/synack-layout	The TLVs that are not critical have the next number	0,1,2,4,8,10,11,14,16,20,21,27,28,29,31,34,39,40,45,51,55,58,75,82,86,89,93,94,99,100,101,102,103,107,110,111,113,114,115,119,123,127,128,132,136,143,145,156,158,159,160,161,162,163,164,165,166,168,170,172,173,174,175,176,177,178,179,180,181,182,183,184,185,186,187,188,189,190,191,192,199,201,202,203,205,207,210,213,216,217,224,225,226,227,228,229,230,232,233,234,235,236,237,238,239,242,244,248,252,253,255,278,279,280,285,288,289,291,295,296,299,304,306,307,313,321,323,325,327,328,329,332,339,340,342,349,352,353,355,356,357,359,376,379,380,381,388,393,395,396,397,400,403,405,406,408,412,415,416,418,420,422,424,434,436,440,442,448,450,454,456,457,458,460,461,462,463,464,465,466,467,468,469,470,471,472,473,474,475,476,477,479,480,481,482,483,484,485,486,488,489,490,491,494,495,498,501,505,507,511,512,513,515,516,517,518,519,520,521,522,525,526,527,529,531,532,533,535,536,538,540,541,542,548,550,551,552,553,554
LNK-8/limits-announced	LIMITS has requests before frames	2,20,83,89,102,111,127,128,132,136,159,170,190,192,203,205,207,210,244,253,286,288,299,408,418,422,430,434,440,448,471,494,505,520,522,525,526
ATT-1/one-pdu-a-frame	Attribute PDUs go on channel 3	0,2,3,4,5,6,9,10,11,12,13,14,17,18,19,20,21,22,23,25,26,27,28,29,30,32,33,34,35,36,37,38,40,41,42,43,44,45,46,47,48,49,50,53,54,55,56,57,58,59,61,62,63,64,65,66,67,68,69,70,71,72,73,74,77,78,79,80,81,83,84,85,86,87,88,89,90,91,92,93,94,95,97,98,99,100,101,102,103,104,105,106,107,108,109,110,111,112,113,114,115,116,117,118,119,120,121,122,123,124,125,126,128,129,130,131,132,134,135,137,138,140,141,142,145,147,149,150,152,156,157,158,160,161,162,163,164,165,166,167,168,170,172,175,176,177,178,179,180,181,182,183,184,185,186,187,188,189,190,191,193,194,195,196,197,199,200,201,202,203,205,206,208,209,210,211,215,216,217,218,219,224,225,226,227,228,229,230,231,232,233,235,236,237,238,240,241,242,243,245,248,252,257,258,259,260,261,267,268,271,272,273,274,278,279,280,281,284,290,292,293,297,298,299,301,302,303,304,305,306,307,308,309,310,311,312,313,314,315,316,317,318,319,320,321,322,323,324,325,326,327,328,329,330,333,334,335,336,337,338,339,340,341,342,343,344,345,346,347,348,350,351,352,353,354,355,356,357,358,359,360,361,363,364,365,366,367,369,370,371,372,373,374,375,376,378,379,380,381,382,383,384,385,386,387,388,391,392,393,395,396,397,398,399,400,401,402,403,404,405,406,408,409,410,411,412,413,415,417,420,421,423,424,425,426,427,429,431,432,434,435,436,437,438,439,441,442,443,445,446,449,450,451,452,453,454,455,459,460,461,462,463,464,465,466,467,468,469,470,471,472,473,474,475,476,477,478,479,480,481,482,483,484,485,486,487,488,489,490,491,492,493,494,495,496,497,498,499,500,501,502,503,504,506,507,508,509,510,513,514,515,516,517,518,519,520,522,525,527,528,529,530,531,532,533,535,536,537,538,539,540,541,542,544,545,546,547,548,550,551,552,553,554
ATT-2/primary-service	UUIDs are sent most significant byte first	19,32,36,43,44,157,187,190,290,293,301,305,316,372,429,441
ATT-2/primary-service	The service begins at handle 2	0,3,4,6,9,10,11,14,17,18,19,21,22,25,27,28,29,30,32,34,36,37,38,40,41,43,44,45,46,49,50,53,54,55,57,58,61,63,65,69,70,72,73,77,78,81,83,84,85,86,87,89,91,92,93,95,97,98,99,100,101,102,103,104,107,108,110,111,113,114,115,116,119,120,124,125,126,128,130,131,132,134,135,138,140,141,145,150,152,156,157,158,160,161,162,163,164,165,166,168,172,175,176,177,178,179,180,181,182,183,184,185,186,187,188,189,190,191,196,199,200,201,202,203,205,208,210,216,217,224,225,226,227,228,229,230,231,232,233,235,236,237,238,240,241,242,243,245,248,252,257,260,271,273,278,279,280,281,284,290,292,293,297,298,301,302,303,304,305,306,307,308,309,311,312,313,314,315,316,317,318,319,320,321,322,323,324,325,326,327,328,329,330,333,334,335,337,338,339,340,341,342,343,344,345,346,347,348,351,352,353,354,355,356,357,358,359,360,361,363,365,366,367,371,372,373,376,379,380,381,385,387,388,393,395,396,397,398,399,400,403,405,406,408,409,410,411,412,415,417,420,421,423,424,425,427,429,432,435,436,437,439,441,442,445,446,449,450,453,454,459,460,461,462,463,464,465,466,467,468,469,470,471,472,473,474,475,476,477,478,479,480,481,482,483,484,485,486,487,488,489,490,491,492,493,495,496,497,498,499,500,501,502,504,506,507,508,509,513,515,516,517,518,519,522,525,527,528,529,530,531,532,533,535,536,537,538,539,540,541,542,544,548,550,551,552,553,554
ATT-2/characteristics	Data comes before Count in the table	0,3,4,5,6,9,10,11,12,13,14,17,18,19,20,21,22,25,27,28,29,30,32,33,34,36,37,38,40,41,42,43,44,45,46,48,49,50,53,54,55,57,58,61,62,63,65,66,67,69,70,72,73,77,78,80,81,83,84,85,86,87,89,91,92,93,95,97,98,99,100,101,103,104,107,108,110,112,113,114,115,116,118,119,120,123,124,125,126,128,130,131,132,134,135,136,137,138,140,141,145,147,150,152,156,157,158,160,161,162,163,164,165,166,168,172,175,176,177,178,179,180,181,182,183,184,185,186,187,188,189,190,191,192,196,199,200,201,202,205,206,208,210,216,217,218,224,225,226,227,228,229,230,231,232,233,235,236,237,238,240,241,242,243,245,248,252,257,260,267,271,273,278,279,280,281,284,290,292,293,297,298,299,301,302,303,304,305,306,307,308,309,310,311,313,314,315,316,317,318,319,320,321,322,323,324,325,326,327,328,329,330,333,334,335,337,338,339,340,341,342,343,345,347,348,350,351,352,353,354,355,356,357,358,359,360,363,364,365,366,367,370,371,373,374,376,378,379,380,381,382,383,385,387,388,391,392,393,395,396,397,398,399,400,401,402,403,405,406,408,409,410,411,412,415,417,420,421,423,424,425,426,427,432,435,436,437,438,439,442,443,445,446,449,450,453,454,459,460,461,462,463,464,465,466,467,468,469,470,472,473,474,475,476,477,478,479,480,481,482,483,484,485,486,487,488,489,490,491,492,493,494,495,496,497,498,499,500,501,502,504,506,507,508,509,513,515,516,517,518,519,522,525,527,528,529,530,531,532,533,535,536,537,538,539,540,541,542,544,548,550,551,552,553,554
NTF-1/stored-and-counted	The values of Count and of a CCCD are read most significant byte first	11,18,22,29,30,46,50,63,65,70,77,84,87,100,107,114,115,130,138,152,162,175,185,187,188,189,200,210,237,252,278,279,280,308,309,312,317,318,321,322,330,338,339,342,345,346,348,353,355,357,359,361,381,385,395,399,417,423,425,435,446,450,453,460,462,468,487,492,503,504,507,508,527,535,536,538,550,551,552,553,554
ATT-8/exchange-mtu	Exchange MTU has its MTU most significant byte first	14,45,61,187,304,306,371,481,483
ATT-11/permissions	An Error Response has its code before the handle	0,6,17,19,21,22,23,25,27,28,32,34,36,37,38,43,46,50,55,63,77,84,85,87,88,91,92,98,103,104,113,130,138,152,187,188,189,200,237,284,290,293,303,305,307,316,326,333,334,335,336,337,341,343,346,351,361,366,371,373,385,403,409,417,423,431,446,450,453,487,492,507,508,509,527,529,535,536,538,540,541,542,544,552,553,554
NTF-1/stored-and-counted	The text of a notification has the key body	0,3,4,10,11,14,18,21,22,27,28,29,40,41,46,50,58,63,65,70,77,84,86,87,95,99,100,101,103,107,110,113,114,115,119,130,138,145,152,156,158,160,161,163,164,165,166,168,175,176,177,178,180,181,182,183,184,186,187,188,189,199,208,210,217,224,225,226,228,230,233,235,236,237,238,242,248,252,278,279,280,307,308,309,313,314,317,318,320,321,322,323,325,327,328,330,338,339,340,342,345,348,352,353,355,357,358,359,367,373,376,380,381,385,388,393,395,396,397,399,400,403,405,406,411,412,415,417,420,423,424,435,436,439,446,450,453,460,461,462,463,464,465,466,467,468,469,470,472,473,474,475,476,477,479,480,481,482,483,484,485,486,487,488,489,490,491,492,495,498,499,500,501,513,515,516,517,518,519,527,529,531,532,533,535,536,538,540,541,542,548,550,551,552,553,554
NTF-3/length-limits	app and title have each other's keys	0,3,11,21,22,27,28,29,41,103,113,119,160,188,189,237,307,313,320,323,325,327,328,339,340,342,352,353,355,358,367,373,381,388,395,399,400,403,405,406,424,439,446,468,469,470,472,488,498,527,536,550,552,553,554
NTF-32/digest-of-the-page	A digest begins with the hash of nothing	0,3,10,11,21,27,28,29,34,41,47,103,113,119,160,188,189,237,307,313,320,321,323,325,327,328,339,340,342,352,353,355,358,367,373,381,388,395,399,400,403,405,406,424,439,468,469,470,472,485,488,498,527,536,542,544,550,552,553,554
NTF-26/beyond-mtu	RESYNC and GONE have each other's numbers	4,14,95,99,189,199,233,248,473,489,531
NTF-24/removed	A removal has ev d	4,10,11,14,40,41,58,63,77,84,99,100,101,107,110,114,115,130,138,156,160,185,188,189,199,200,217,224,229,237,252,279,280,328,352,357,380,393,395,396,397,412,415,417,421,423,424,435,436,439,446,450,453,470,474,480,482,487,488,489,492,493,495,500,501,507,508,513,527,540,541,542,544,548,550,551,552,553,554
NTF-21/src-key	The key src is called fro	3,11,14,29,34,40,41,55,58,63,77,84,86,95,99,100,101,110,114,130,138,156,160,164,168,176,183,185,188,189,217,224,225,228,248,279,280,320,328,342,357,358,373,376,388,395,397,400,412,415,417,423,435,436,439,446,450,453,463,464,466,468,469,472,474,477,479,480,484,485,486,487,488,492,495,500,513,516,527,529,531,533,536,542,548,550,551,552,553,554
"""#
}
