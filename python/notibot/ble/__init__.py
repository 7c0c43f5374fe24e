"""A Notibot on Bluetooth Low Energy: `python -m notibot.ble`, which `notibot` starts.

The extra `notibot-rig[ble]` installs what it needs. Each attribute PDU is passed on unchanged
between a link and a unix socket, there as a record of a little-endian u16 length and the PDU
(docs/CLI.md, Bluetooth).
"""
