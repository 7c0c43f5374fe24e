#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
class Stream {
 public:
  virtual ~Stream();
  virtual int available();
  virtual int read();
  virtual int availableForWrite();
  virtual size_t write(const uint8_t *bytes, size_t length);
};
class HardwareSerial : public Stream {
 public:
  void begin(unsigned long baud);
};
extern HardwareSerial Serial;
uint32_t millis();
uint32_t micros();
int analogRead(uint8_t pin);
#define A0 0
void setup();
void loop();
