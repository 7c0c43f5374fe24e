// A display without a screen: it logs what it would show.
#include <Notibot.h>

Notibot<16> notibot(Serial);

static uint32_t latest = 0;
static bool hasChange = false;

// Called during a write: stores the item, which loop() shows.
static void note(void *, enum nb_change change, const nb_slot_t *slot) {
  if (change == NB_CHANGE_LEFT || change == NB_CHANGE_HIDDEN) return;
  latest = slot->item;
  hasChange = true;
}

void setup() {
  Serial.begin(921600);
  NotibotOptions options;
  options.firmwareName = "display";
  options.firmwareVersion = "0.1.0";
  options.bitsPerSecond = 921600;
  options.bootID = micros() ^ (static_cast<uint32_t>(analogRead(A0)) << 16);
  options.changed = note;
  notibot.begin(options);
}

void loop() {
  notibot.run();
  if (!hasChange) return;
  hasChange = false;
  char line[48];
  snprintf(line, sizeof line, "showing #%lu of %lu\n", static_cast<unsigned long>(latest),
           static_cast<unsigned long>(notibot.count()));
  notibot.log(line);
}
