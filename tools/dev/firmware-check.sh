# shellcheck shell=bash
fuzz=60 only=all
options --fuzz= --only=
case $only in all|compile|checks|analyse|ports|fuzz|size) ;; *) wrong_use "no step '$only'" ;; esac
[[ $fuzz =~ ^[0-9]+$ ]] || wrong_use "'$fuzz' is not a number of seconds"
wants() { [ "$only" = all ] || [ "$only" = "$1" ]; }

core=firmware-fixtures/core chip=firmware-fixtures/chip ports=firmware-fixtures/ports
work=.build/firmware-check
strict=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wmissing-prototypes -Werror)
free=(-std=c11 -ffreestanding "${strict[@]}" -I"$core/include")
# Linter checks that do not apply to this code: bounded memcpy, and parameters of one type with
# clear names; and one that clang-tidy 14 reports after every va_start.
tidy='-*,bugprone-*,clang-analyzer-*,cert-*,-clang-analyzer-security.insecureAPI.*,-bugprone-easily-swappable-parameters,-clang-analyzer-valist.Uninitialized'
mkdir -p "$work"

if wants compile; then
  title "compile: gcc and clang, freestanding C11, warnings are errors"
  require_packages gcc libc6-dev
  for compiler in gcc clang; do
    # Objects of deleted files would be checked below.
    rm -f "$work/$compiler"-*.o
    for file in "$core"/src/*.c; do
      "$compiler" "${free[@]}" -O0 -c "$file" -o /dev/null
      "$compiler" "${free[@]}" -Os -c "$file" -o "$work/$compiler-$(basename "$file" .c).o"
    done
    "$compiler" "${free[@]}" -Os -I"$ports/control" -c "$ports/control/nb_control.c" -o /dev/null
    "$compiler" -std=c11 "${strict[@]}" -I"$core/include" -I"$ports/control" -I"$ports/host/include" -c "$ports/host/nb_host.c" -o /dev/null
    "$compiler" -std=gnu11 "${strict[@]}" -I"$core/include" -c "$ports/posix/att_socket.c" -o /dev/null
    for file in "$chip"/src/*.c; do
      "$compiler" -std=c11 "${strict[@]}" -I"$chip/include" -O1 -c "$file" -o /dev/null
    done
    printf '%-8s %s files, the ports of the tests, and the model of the ESP32-C3\n' "$compiler" "$(find "$core/src" -name '*.c' | wc -l)"
  done
  # The core is self-contained: four headers of C, no functions except those of <string.h>, no
  # global variables.
  ! grep -hE '^ *# *include <' "$core"/include/*.h "$core"/src/*.[ch] | grep -vE '<(stdint|stddef|stdbool|string)\.h>' \
    || fail "the core includes a header that is not allowed"
  ! nm --undefined-only -j "$work"/gcc-nb_*.o | grep -vE '(:|^)$|^(nb_.*|mem(cpy|move|set|cmp)|strlen|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail)$' | grep -v ':$' \
    || fail "the core calls a function that is not allowed"
  size -A "$work"/gcc-nb_*.o | awk '($1 == ".data" || $1 == ".bss") && $2 > 0 {found = 1} END {exit found}' \
    || fail "the core has global variables"
  echo "self-contained: four headers, no external calls, no global variables"
fi

if wants checks; then
  title "checks: the C interface, in memory of exact size, under sanitizers"
  require_packages gcc libc6-dev
  gcc -std=c11 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all "${strict[@]}" -Wno-conversion -I"$core/include" \
    firmware-fixtures/checks/*.c "$core"/src/*.c -o "$work/checks"
  "$work/checks"
  echo "all hold"
fi

if wants analyse; then
  title "analyse: gcc -fanalyzer, cppcheck, clang-tidy"
  require_packages gcc libc6-dev cppcheck clang-tidy
  for file in "$core"/src/*.c; do gcc "${free[@]}" -O1 -fanalyzer -c "$file" -o /dev/null; done
  for file in "$chip"/src/*.c; do gcc -std=c11 "${strict[@]}" -I"$chip/include" -O1 -fanalyzer -c "$file" -o /dev/null; done
  echo "gcc -fanalyzer: nothing"
  cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 -I "$core/include" "$core/src"
  cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 -I "$chip/include" "$chip/src"
  echo "cppcheck: nothing"
  clang-tidy --quiet --warnings-as-errors='*' --checks="$tidy" "$core"/src/*.c "$chip"/src/*.c -- -std=c11 -I"$core/include" -I"$chip/include" 2>"$work/tidy.txt" \
    || { cat "$work/tidy.txt" >&2; exit 1; }
  echo "clang-tidy: nothing"
fi

if wants ports; then
  title "ports: parsed against stub headers"
  require_packages gcc g++ libc6-dev
  idf=(-fsyntax-only "${strict[@]}" -I"$core/include" -isystem "$ports/stubs/esp-idf" -I"$ports/esp-idf/notibot_serial/include")
  for compiler in gcc clang; do
    for line in "-DCONFIG_NOTIBOT_LINE_UART=1" "-DCONFIG_NOTIBOT_LINE_UART=0" "-DCONFIG_NOTIBOT_LINE_UART=1 -DCONFIG_NOTIBOT_BLE=1"; do
      for file in "$ports"/esp-idf/notibot_serial/src/*.c "$ports"/esp-idf/example/main/*.c; do
        [[ $file == *_ble.c && $line != *BLE* ]] && continue
        # shellcheck disable=SC2086  # the options of a line are words
        "$compiler" -std=gnu17 "${idf[@]}" $line "$file"
      done
    done
  done
  echo "esp-idf: UART, USB-Serial-JTAG, UART with BLE"
  arduino=(-std=gnu++17 -fsyntax-only -Wall -Wextra -Wconversion -Wshadow -Werror -I"$core/include" -isystem "$ports/stubs/arduino" -I"$ports/arduino/src")
  for compiler in g++ clang++; do
    "$compiler" "${arduino[@]}" "$ports/arduino/src/Notibot.cpp"
    "$compiler" "${arduino[@]}" -x c++ -include Arduino.h "$ports/arduino/examples/Display/Display.ino"
  done
  echo "arduino: library and example"
fi

if wants fuzz && [ "$fuzz" -eq 0 ]; then
  title "fuzz: left out, as --fuzz 0 says"
elif wants fuzz; then
  title "fuzz: libFuzzer with address and undefined-behaviour sanitizers, $fuzz s"
  # The small ones get less than a third of the time: the device's script reaches all the code.
  for share in decoder:5 json:4 device:2; do
    fuzzer=${share%:*} time=$((fuzz / ${share#*:}))
    clang -std=c11 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -I"$core/include" \
      firmware-fixtures/fuzz/"${fuzzer}"_fuzz.c firmware-fixtures/fuzz/fuzz.c "$core"/src/*.c -o "$work/$fuzzer-fuzz" 2>"$work/$fuzzer-build.txt" \
      || { cat "$work/$fuzzer-build.txt" >&2; exit 1; }
    mkdir -p "$work/$fuzzer-corpus"
    "$work/$fuzzer-fuzz" -max_total_time="$((time > 0 ? time : 1))" -max_len=4096 -print_final_stats=1 \
      -artifact_prefix="$work/$fuzzer-" "$work/$fuzzer-corpus" >"$work/$fuzzer.txt" 2>&1 \
      || { tail -40 "$work/$fuzzer.txt" >&2; fail "$fuzzer found something; its input is $work/$fuzzer-*"; }
    printf '%-8s %10s inputs in %2s s, %5s edges, nothing found\n' "$fuzzer" \
      "$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$fuzzer.txt")" "$time" \
      "$(grep -oE 'cov: [0-9]+' "$work/$fuzzer.txt" | tail -1 | cut -c6-)"
  done
fi

if wants size; then
  title "size: rv32imc, -Os, window 4, and instructions"
  require_packages gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf python3 qemu-user
  python3 -m tools.firmware_size
fi
