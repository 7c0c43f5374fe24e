# shellcheck shell=bash disable=SC1007,SC2154
instructions=1e7 images=3000 short=''
options --short
if [ "$short" = 1 ]; then instructions=2e5 images=200; fi
model=firmware-fixtures/chip check=tools/chip images_kept=firmware-fixtures/ports/esp32c3/images
work=.build/chip-test
strict=(-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wmissing-prototypes -Werror "-I$model/include" "-I$model/src")
mkdir -p "$work"

title "image: two builds are equal, and are the ones in the repository"
firmware-fixtures/ports/esp32c3/build "$work/images"
firmware-fixtures/ports/esp32c3/build "$work/again" >/dev/null
for image in uart usb display; do
  cmp "$work/images/notibot-esp32c3-$image.bin" "$work/again/notibot-esp32c3-$image.bin" \
    || fail "the $image image is not reproducible"
  cmp "$work/images/notibot-esp32c3-$image.bin" "$images_kept/notibot-esp32c3-$image.bin" \
    || fail "$images_kept is not of these sources; run firmware-fixtures/ports/esp32c3/build --keep"
done
(cd "$images_kept" && sha256sum --check --quiet SHA256SUMS)

title "model: gcc and clang, warnings are errors"
for compiler in gcc clang; do
  command -v "$compiler" >/dev/null || { echo "$compiler: not installed, left out"; continue; }
  "$compiler" "${strict[@]}" -O2 -fPIC -shared "$model"/src/*.c -o "$work/libchip-$compiler.so"
  echo "$compiler: $(find "$model/src" -name '*.c' | wc -l) files"
done
mkdir -p "$work/objects"
(cd "$work/objects" && rm -f ./*.o && gcc "${strict[@]/#-I$model/-I../../../$model}" -O0 -fno-pie -c ../../../"$model"/src/*.c)
size -A "$work"/objects/*.o | awk '($1 == ".data" || $1 == ".bss") && $2 > 0 {found = 1} END {exit found}' \
  || fail "the model has global variables"
echo "no global variables"
export CHIP_LIBRARY=$PWD/$work/libchip-gcc.so CHIP_IMAGES=$PWD/$work/images PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PWD

title "CPU: against qemu-riscv32"
"$python" "$check/instructions.py" --library "$CHIP_LIBRARY" --instructions "$instructions"

for checks in bus device rom firmware display; do
  title "$checks checks"
  "$python" "$check/${checks}_checks.py"
done

if [ -z "$short" ]; then
  title "faults of the port"
  "$python" -m tools.chip.port_mutants
fi

title "hostile images, under sanitizers"
gcc "${strict[@]}" -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all "$model"/src/*.c "$model/check/fuzz.c" -o "$work/fuzz"
"$work/fuzz" "$images"

title "cost"
"$python" "$check/measure.py" --library "$CHIP_LIBRARY" --images "$CHIP_IMAGES"
