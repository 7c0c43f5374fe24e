-- A Wireshark dissector for the captures of 'notibot test --trace FOLDER':
--
--   wireshark -X lua_script:notibot.lua FOLDER/ATT-9_read.pcapng
--
-- Source of the format: docs/PROTOCOL.md, sections 1 and 2.

local link = Proto("notibot", "Notibot serial protocol")
local types = {
  [1] = "HELLO", [2] = "SYN", [3] = "SYNACK", [4] = "DATA", [5] = "ACK", [6] = "NAK",
  [7] = "UDATA", [8] = "PING", [9] = "PONG", [10] = "RST", [11] = "FIN",
}
local channels = { [0] = "link", [1] = "log", [2] = "rig", [4] = "ATT" }
local tlvs = {
  [0x81] = "MAGIC", [0x82] = "NONCE", [0x83] = "VERSIONS", [0x84] = "VERSION", [0x05] = "FEATURES",
  [0x06] = "LIMITS", [0x07] = "SRC", [0x08] = "RUN", [0x09] = "CLOCK", [0x0A] = "BOOT_ID",
  [0x0B] = "BOOT_COUNT", [0x0C] = "RESET_REASON", [0x0D] = "UPTIME", [0x0E] = "DEVICE_ID",
  [0x0F] = "FIRMWARE_NAME", [0x10] = "FIRMWARE_VERSION", [0x11] = "BUILD_HASH",
  [0x12] = "PROFILE_HASH", [0x13] = "CAPACITY", [0x14] = "REASON", [0x15] = "REFUSED",
}
local f = {
  type = ProtoField.uint8("notibot.type", "Type", base.DEC, types, 0xF0),
  direction = ProtoField.bool("notibot.from_device", "From the device", 8, nil, 0x08),
  channel = ProtoField.uint8("notibot.channel", "Channel", base.DEC, channels, 0x07),
  length = ProtoField.uint16("notibot.length", "Payload length"),
  session = ProtoField.uint16("notibot.session", "Session"),
  seq = ProtoField.uint8("notibot.seq", "Seq"),
  ack = ProtoField.uint8("notibot.ack", "Ack"),
  credit = ProtoField.uint8("notibot.credit", "Credit"),
  payload = ProtoField.bytes("notibot.payload", "Payload"),
  tlv = ProtoField.bytes("notibot.tlv", "TLV"),
  crc = ProtoField.uint32("notibot.crc", "CRC", base.HEX),
  text = ProtoField.string("notibot.text", "Text"),
}
link.fields = {
  f.type, f.direction, f.channel, f.length, f.session, f.seq, f.ack, f.credit, f.payload, f.tlv,
  f.crc, f.text,
}
local bad_crc = ProtoExpert.new("notibot.bad_crc", "The CRC is wrong", expert.group.CHECKSUM, expert.severity.ERROR)
link.experts = { bad_crc }

-- COBS, without the zeros; nil if it is none.
local function unstuffed(bytes)
  local result, index = {}, 0
  while index < bytes:len() do
    local code = bytes:get_index(index)
    if code == 0 or index + code > bytes:len() then return nil end
    for offset = 1, code - 1 do result[#result + 1] = bytes:get_index(index + offset) end
    index = index + code
    if code < 255 and index < bytes:len() then result[#result + 1] = 0 end
  end
  return result
end

-- CRC-32 of the first `count` bytes.
local function crc32(bytes, count)
  local crc = 0xFFFFFFFF
  for index = 1, count do
    crc = bit.bxor(crc, bytes[index])
    for _ = 1, 8 do
      crc = bit.bxor(bit.rshift(crc, 1), bit.band(0xEDB88320, -bit.band(crc, 1)))
    end
  end
  return bit.tohex(bit.bnot(crc))
end

local function show_tlvs(payload, tree)
  local index = 0
  while index + 1 < payload:len() do
    local kind, length = payload(index, 1):uint(), payload(index + 1, 1):uint()
    if index + 2 + length > payload:len() then return end
    local item = tree:add(f.tlv, payload(index, 2 + length))
    item:set_text(string.format("%s: %s", tlvs[kind] or string.format("TLV 0x%02X", kind),
      length > 0 and payload(index + 2, length):bytes():tohex() or ""))
    index = index + 2 + length
  end
end

function link.dissector(buffer, info, root)
  info.cols.protocol = "Notibot"
  local tree = root:add(link, buffer())
  local body = unstuffed(buffer():bytes())
  local kind = body and #body >= 12 and types[math.floor(body[1] / 16)]
  if not kind or body[2] + 256 * body[3] ~= #body - 12 then
    tree:add(f.text, buffer(), buffer():string())
    info.cols.info = "text: " .. buffer():string():gsub("%c", " ")
    return
  end
  local array = ByteArray.new()
  array:set_size(#body)
  for index = 1, #body do array:set_index(index - 1, body[index]) end
  local frame = array:tvb("Frame without COBS")
  tree:add(f.type, frame(0, 1))
  tree:add(f.direction, frame(0, 1))
  tree:add(f.channel, frame(0, 1))
  tree:add_le(f.length, frame(1, 2))
  tree:add_le(f.session, frame(3, 2))
  tree:add(f.seq, frame(5, 1))
  tree:add(f.ack, frame(6, 1))
  tree:add(f.credit, frame(7, 1))
  local crc = tree:add_le(f.crc, frame(#body - 4, 4))
  if crc32(body, #body - 4) ~= bit.tohex(frame(#body - 4, 4):le_uint()) then crc:add_proto_expert_info(bad_crc) end
  info.cols.info = string.format("%s %s seq %d ack %d +%d", frame(0, 1):uint() % 16 >= 8 and "<" or ">", kind,
    body[6], body[7], body[8])
  if #body == 12 then return end
  local payload = frame(8, #body - 12)
  local item = tree:add(f.payload, payload)
  local channel = body[1] % 8
  if kind == "HELLO" or kind == "SYN" or kind == "SYNACK" or kind == "RST" then
    show_tlvs(payload, item)
  elseif kind == "DATA" and channel == 4 then
    info.cols.info:append(", ATT ")
    Dissector.get("btatt"):call(payload:tvb(), info, root)
  elseif kind == "UDATA" and channel == 1 then
    item:add(f.text, payload, payload:string())
  end
end

-- What 'notibot test --trace' writes: frames and text, and the PDUs of a connection.
local encapsulations = DissectorTable.get("wtap_encap")
encapsulations:add(wtap.USER0, link)
encapsulations:add(wtap.USER1, Dissector.get("btatt"))
