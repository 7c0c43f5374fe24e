// The Notibot reference firmware on an Arduino Stream.
//
//   Notibot<16> notibot(Serial);                 // room for 16 notifications
//   void setup() { Serial.begin(921600); notibot.begin(options); }
//   void loop() { notibot.run(); }
//
// Nothing else must print to that Stream: text goes through notibot.log(), which sends it between frames.
// All calls come from one task; run() never waits.
#ifndef NOTIBOT_ARDUINO_H
#define NOTIBOT_ARDUINO_H

#include <Arduino.h>

extern "C" {
#include "notibot.h"
}

struct NotibotOptions {
  const char *firmwareName = nullptr;     // at most 32 bytes of UTF-8
  const char *firmwareVersion = nullptr;  // the same
  uint8_t deviceID[6] = {};               // the base MAC, first octet first
  uint32_t bootID = 0;                    // new at each boot: esp_random(), a counter in EEPROM, a noisy ADC
  uint32_t bootCount = 0;
  uint8_t resetReason = 0;                // the numbers of esp_reset_reason_t; 0 unknown
  uint32_t bitsPerSecond = 0;             // of the line; 0 for USB
  // A notification was added, changed or removed. It must not call back into the device.
  void (*changed)(void *context, enum nb_change change, const nb_slot_t *slot) = nullptr;
  void *context = nullptr;
};

// The part that does not depend on the store's size.
class NotibotLine {
 public:
  explicit NotibotLine(Stream &stream) : stream_(stream) {}
  NotibotLine(const NotibotLine &) = delete;
  NotibotLine &operator=(const NotibotLine &) = delete;

  // Takes received bytes, runs what is due, and sends as much as the Stream has room for.
  void run();
  // Queues text. Returns false if some of it was dropped.
  bool log(const char *text);
  uint32_t count() const { return nb_device_count(&device_); }
  bool dismiss(uint32_t item) { return nb_device_dismiss(&device_, item) == 0; }
  bool act(uint32_t item, uint8_t action) { return nb_device_act(&device_, item, action) == 0; }
  const nb_device_t &device() const { return device_; }

 protected:
  bool start(nb_config_t &config, const NotibotOptions &options);

 private:
  bool sendRest();

  Stream &stream_;
  nb_device_t device_;
  uint8_t out_[NB_WIRE_MAX];
  size_t length_ = 0;  // of what out_ holds
  size_t sent_ = 0;    // of that
};

template <uint16_t capacity, uint8_t frames = 8>
class Notibot : public NotibotLine {
 public:
  explicit Notibot(Stream &stream) : NotibotLine(stream) {}

  // Returns false when an option is out of its range.
  bool begin(const NotibotOptions &options) {
    config_ = nb_config_t();
    config_.frames = frames;
    config_.requests = frames / 2;
    config_.mtu = 517;
    config_.features = NB_FEATURE_PIPELINE | NB_FEATURE_KEYS | NB_FEATURE_SYNC | NB_FEATURE_LOG | NB_FEATURE_ACTIONS;
    config_.can_evict = true;
    config_.rx_queue = receiveQueue_;
    config_.rx_queue_bytes = sizeof receiveQueue_;
    config_.tx_queue = sendQueue_;
    config_.tx_queue_bytes = sizeof sendQueue_;
    config_.log = log_;
    config_.log_bytes = sizeof log_;
    config_.slots = slots_;
    config_.capacity = capacity;
    config_.writers = writers_;
    config_.writer_count = NB_WRITERS_MIN;
    config_.gone = gone_;
    config_.gone_count = NB_GONE_MIN;
    return start(config_, options);
  }

 private:
  static_assert(frames >= 2 && frames <= 64, "a window has 2 to 64 frames (LNK-8)");

  nb_config_t config_;
  nb_slot_t slots_[capacity];
  nb_writer_t writers_[NB_WRITERS_MIN];
  nb_gone_t gone_[NB_GONE_MIN];
  uint8_t receiveQueue_[2160];
  uint8_t sendQueue_[NB_TX_QUEUE_MIN];
  uint8_t log_[256];
};

#endif
