#include "Notibot.h"

#include <string.h>

// A counter or a noisy pin changes few bits; of the ids each bit has to be random (LNK-5, LNK-12).
static uint32_t mixed(uint32_t x) {
  x = (x ^ x >> 16) * UINT32_C(0x7FEB352D);
  x = (x ^ x >> 15) * UINT32_C(0x846CA68B);
  return x ^ x >> 16;
}

bool NotibotLine::start(nb_config_t &config, const NotibotOptions &options) {
  config.firmware_name = options.firmwareName;
  config.firmware_version = options.firmwareVersion;
  memcpy(config.device_id, options.deviceID, sizeof config.device_id);
  config.bits_per_second = options.bitsPerSecond;
  config.changed = options.changed;
  config.context = options.context;
  nb_boot_t boot = nb_boot_t();
  boot.boot_id = mixed(options.bootID);
  boot.boot_count = options.bootCount;
  boot.first_session = static_cast<uint16_t>(mixed(boot.boot_id));
  boot.reset_reason = options.resetReason;
  length_ = 0;
  sent_ = 0;
  return nb_device_start(&device_, &config, &boot, millis()) == 0;
}

void NotibotLine::run() {
  const uint32_t now = millis();
  // Only the bytes available now: a fast host must not keep loop() here.
  int waiting = stream_.available();
  const bool isQuiet = waiting <= 0;
  for (; waiting > 0; waiting--) {
    const int byte = stream_.read();
    if (byte < 0) break;
    nb_device_receive(&device_, static_cast<uint8_t>(byte), now);
  }
  // Silence counts only after a read that found nothing (FRM-9).
  if (isQuiet) nb_device_poll(&device_, now);
  nb_device_work(&device_, now);
  while (sendRest()) {
    const int length = nb_device_transmit(&device_, now, out_, sizeof out_);
    if (length <= 0) return;
    length_ = static_cast<size_t>(length);
    sent_ = 0;
  }
}

// Completes the frame that a short write left. Returns whether it is all sent.
bool NotibotLine::sendRest() {
  while (sent_ < length_) {
    // A Stream's write() can block, or drop bytes without room; it gets no more than it has room for.
    const int room = stream_.availableForWrite();
    if (room <= 0) return false;
    size_t part = length_ - sent_;
    if (part > static_cast<size_t>(room)) part = static_cast<size_t>(room);
    const size_t count = stream_.write(out_ + sent_, part);
    if (count == 0) return false;
    sent_ += count;
  }
  return true;
}

bool NotibotLine::log(const char *text) { return nb_device_log(&device_, text, strlen(text)) == 0; }
