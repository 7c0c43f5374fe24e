"""USB serial ports as umockdev's testbed takes them: what sysfs and udev say of a port and of the
device that it belongs to."""

import os

BUS = "/devices/pci0000:00/0000:00:14.0/usb1"

ROOT_HUB = f"""P: {BUS}
N: bus/usb/001/001
E: SUBSYSTEM=usb
E: DEVTYPE=usb_device
E: DEVNAME=/dev/bus/usb/001/001
E: BUSNUM=001
E: DEVNUM=001
E: MAJOR=189
E: MINOR=0
A: idVendor=1d6b
A: idProduct=0002
A: busnum=1
A: devnum=1
A: speed=480
A: bConfigurationValue=1
H: descriptors=12010002090001406B1D020004060302010109021900010100E0000904000001090000000705810304000C

"""


class Port:
    """A port `tty`, such as ttyUSB0, of a device at `at`, such as 1-2, on the bus."""

    def __init__(self, tty, at, id, driver, interface=0, serial=None, product=None, latency=None):
        self.name, self.driver, self.number = tty, driver, interface
        self.id, self.serial, self.product, self.latency = id, serial, product, latency
        self.place = int(at.split("-")[1])
        self.device = f"{BUS}/{at}"
        self.interface = f"{self.device}/{at}:1.{interface}"
        self.holder = self.interface if tty.startswith("ttyACM") else f"{self.interface}/{tty}"
        self.tty = f"{self.holder}/tty/{tty}"
        self.usb_node = f"bus/usb/001/{self.place + 1:03}"

    def device_block(self):
        vendor, product = self.id.split(":")
        swapped = vendor[2:] + vendor[:2] + product[2:] + product[:2]
        number = self.place + 1
        lines = [
            f"P: {self.device}",
            f"N: {self.usb_node}",
            "E: SUBSYSTEM=usb",
            "E: DEVTYPE=usb_device",
            f"E: DEVNAME=/dev/{self.usb_node}",
            "E: BUSNUM=001",
            f"E: DEVNUM={number:03}",
            "E: MAJOR=189",
            f"E: MINOR={number - 1}",
            f"A: idVendor={vendor}",
            f"A: idProduct={product}",
            "A: busnum=1",
            f"A: devnum={number}",
            "A: speed=12",
            "A: bConfigurationValue=1",
        ]
        lines += [f"A: serial={self.serial}"] if self.serial else []
        lines += [f"A: product={self.product}"] if self.product else []
        lines.append(
            f"H: descriptors=1201000200000040{swapped}0001010203010902200001010080320904000002FF0000000705810240000007050102400000"
        )
        return "\n".join(lines) + "\n\n"

    def interface_block(self):
        up = "../" * self.interface.count("/")
        return (
            "\n".join(
                [
                    f"P: {self.interface}",
                    "E: SUBSYSTEM=usb",
                    "E: DEVTYPE=usb_interface",
                    f"E: DRIVER={self.driver}",
                    f"A: bInterfaceNumber={self.number:02}",
                    f"L: driver={up}bus/usb/drivers/{self.driver}",
                ]
            )
            + "\n\n"
        )

    def holder_block(self):
        """Of a usb-serial port, the device between interface and tty; others have none."""
        if self.holder == self.interface:
            return ""
        up = "../" * self.holder.count("/")
        lines = [
            f"P: {self.holder}",
            "E: SUBSYSTEM=usb-serial",
            f"E: DRIVER={self.driver}",
            f"L: driver={up}bus/usb-serial/drivers/{self.driver}",
        ]
        lines += [f"A: latency_timer={self.latency}"] if self.latency else []
        return "\n".join(lines) + "\n\n"

    def tty_block(self, major, minor):
        tag = f"pci-0000_00_14_0-usb-0_{self.place}_1_{self.number}"
        return (
            "\n".join(
                [
                    f"P: {self.tty}",
                    f"N: {self.name}",
                    f"S: serial/by-path/{tag}",
                    "E: SUBSYSTEM=tty",
                    f"E: DEVNAME=/dev/{self.name}",
                    f"E: MAJOR={major}",
                    f"E: MINOR={minor}",
                    f"E: ID_PATH_TAG={tag}",
                    f"A: dev={major}:{minor}",
                    f"L: device=../../../{os.path.basename(self.holder)}",
                ]
            )
            + "\n\n"
        )
