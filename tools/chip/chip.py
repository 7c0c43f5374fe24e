"""The model as a shared library, for the checks: ctypes, and nothing of the firmware's code."""

import ctypes
from ctypes import POINTER, Structure, c_bool, c_char, c_char_p, c_int, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p

UART0, UART1, USB, LINES = 0, 1, 2, 3
UNPLUGGED, UNREAD, OPEN = 0, 1, 2
TIME, OUTPUT, FULL, FAULT = 0, 1, 2, 3
MS = 1_000_000
DISPLAY_COLUMNS, DISPLAY_ROWS = 128, 64

MAC = bytes.fromhex("7cdfa1b2c3d4")


class Config(Structure):
    _fields_ = [
        ("flash", c_char_p),
        ("flash_bytes", c_size_t),
        ("mac", c_uint8 * 6),
        ("seed", c_uint32),
        ("usb_host", c_int),
    ]


class Fault(Structure):
    _fields_ = [("address", c_uint32), ("pc", c_uint32), ("text", c_char * 192)]


class Statistics(Structure):
    _fields_ = [
        ("now_ns", c_uint64),
        ("awake_ns", c_uint64),
        ("instructions", c_uint64),
        ("cycles", c_uint64),
        ("boots", c_uint32),
        ("reset_reason", c_uint32),
        ("lost_bytes", c_uint32 * LINES),
    ]


SIGNATURES = {
    "chip_create": (c_void_p, [POINTER(Config)]),
    "chip_destroy": (None, [c_void_p]),
    "chip_power_cycle": (None, [c_void_p]),
    "chip_run": (c_int, [c_void_p, c_uint64, c_bool]),
    "chip_feed": (c_size_t, [c_void_p, c_int, c_char_p, c_size_t]),
    "chip_drop_input": (None, [c_void_p, c_int]),
    "chip_pending": (c_size_t, [c_void_p, c_int]),
    "chip_take": (c_size_t, [c_void_p, c_int, c_char_p, c_size_t]),
    "chip_set_rate": (None, [c_void_p, c_int, c_uint32]),
    "chip_set_lines": (None, [c_void_p, c_int, c_bool, c_bool]),
    "chip_set_usb_host": (None, [c_void_p, c_int]),
    "chip_attach_display": (None, [c_void_p]),
    "chip_display": (c_bool, [c_void_p, POINTER(c_uint8)]),
    "chip_set_button": (None, [c_void_p, c_bool]),
    "chip_fault": (POINTER(Fault), [c_void_p]),
    "chip_get_statistics": (None, [c_void_p, POINTER(Statistics)]),
    "chip_is_in_loader": (c_bool, [c_void_p]),
    "chip_bus_read": (c_bool, [c_void_p, c_uint32, c_int, POINTER(c_uint32)]),
    "chip_bus_write": (c_bool, [c_void_p, c_uint32, c_int, c_uint32]),
    "chip_interrupts": (c_uint32, [c_void_p]),
    "chip_poke": (c_bool, [c_void_p, c_uint32, c_char_p, c_size_t]),
    "chip_peek": (c_bool, [c_void_p, c_uint32, c_char_p, c_size_t]),
    "chip_start_at": (None, [c_void_p, c_uint32]),
    "chip_run_to_exception": (c_int, [c_void_p, c_uint64]),
    "chip_get_register": (c_uint32, [c_void_p, c_int]),
    "chip_set_register": (None, [c_void_p, c_int, c_uint32]),
}


class Library:
    def __init__(self, path):
        self.functions = ctypes.CDLL(path)
        for name, (result, arguments) in SIGNATURES.items():
            function = getattr(self.functions, name)
            function.restype, function.argtypes = result, arguments

    def chip(self, flash, **options):
        return Chip(self.functions, flash, **options)


class RunFault(Exception):
    """The model ended the run."""


class Chip:
    def __init__(self, functions, flash, seed=1, usb_host=OPEN, mac=MAC):
        config = Config(flash, len(flash), (c_uint8 * 6)(*mac), seed, usb_host)
        self.functions = functions
        self.pointer = functions.chip_create(ctypes.byref(config))
        if not self.pointer:
            raise MemoryError("chip_create refused the configuration")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.functions.chip_destroy(self.pointer)

    def __getattr__(self, name):
        function = getattr(self.functions, f"chip_{name}")
        return lambda *arguments: function(self.pointer, *arguments)

    @property
    def statistics(self):
        result = Statistics()
        self.functions.chip_get_statistics(self.pointer, ctypes.byref(result))
        return result

    @property
    def now_ns(self):
        return self.statistics.now_ns

    @property
    def fault(self):
        fault = self.functions.chip_fault(self.pointer).contents
        return fault if fault.text else None

    def feed(self, line, data):
        fed = self.functions.chip_feed(self.pointer, line, data, len(data))
        assert fed == len(data), f"{len(data)} bytes for {fed} bytes of room"

    def picture(self):
        """The rows of the display, a byte for each pixel; None while it is off."""
        pixels = (c_uint8 * (DISPLAY_COLUMNS * DISPLAY_ROWS))()
        if not self.functions.chip_display(self.pointer, pixels):
            return None
        return [bytes(pixels[start : start + DISPLAY_COLUMNS]) for start in range(0, len(pixels), DISPLAY_COLUMNS)]

    def take(self, line):
        buffer = ctypes.create_string_buffer(65536)
        count = self.functions.chip_take(self.pointer, line, buffer, 65536)
        return buffer.raw[:count]

    def peek(self, address, length):
        buffer = ctypes.create_string_buffer(length)
        assert self.functions.chip_peek(self.pointer, address, buffer, length)
        return buffer.raw

    def read_register(self, address):
        value = c_uint32()
        assert self.functions.chip_bus_read(self.pointer, address, 4, ctypes.byref(value)), hex(address)
        return value.value

    def write_register(self, address, value):
        assert self.functions.chip_bus_write(self.pointer, address, 4, value), hex(address)

    def take_only(self, line):
        """Takes what arrived on the line, and drops what arrived on the others."""
        for other in range(LINES):
            if other != line:
                self.take(other)
        return self.take(line)

    def run_until(self, until_ns, stops_at_output=False):
        """Returns why it stopped. Raises RunFault if the program broke a rule."""
        stop = self.functions.chip_run(self.pointer, until_ns, stops_at_output)
        if stop == FAULT:
            fault = self.fault
            raise RunFault(f"{fault.text.decode()} (pc 0x{fault.pc:08x})")
        return stop

    def run(self, milliseconds):
        return self.run_until(self.now_ns + int(milliseconds * MS))

    def read_for(self, line, milliseconds):
        """All that arrives on the line in this time; what arrives on the others is dropped."""
        end = self.now_ns + int(milliseconds * MS)
        data = b""
        while self.run_until(end, True) != TIME:
            data += self.take_only(line)
        return data + self.take(line)
