"""Attributes of a relay, advertising data, and failures of adapters; needs no Bumble."""

import errno
import socket
import sys

import pytest
from notibot.ble import adapter, advertisement, handles
from notibot.ble.events import Failure

SERVICE = handles.NOTIBOT_SERVICE.hex()


def test_any_bytes_are_passed_on_without_an_error():
    for side in (behind(1), handles.PeripheralBearer(), handles.CentralBearer()):
        for op in range(256):
            for length in range(24):
                pdu = bytes([op]) + bytes(range(length))
                for routes in (side.from_client(pdu), side.from_server(pdu)):
                    assert all(route is None or route for route in routes)


def behind(first, name="Notibot"):
    """A bearer whose own attributes are behind a service that begins there."""
    return handles.PeripheralBearer(handles.OwnAttributes(first + handles.COUNT, name))


def asked(bearer, pdu):
    """The answer of the relay itself."""
    routes = bearer.from_client(bytes.fromhex(pdu))
    assert routes.to_server is None, f"{pdu} was passed on"
    return routes.to_client.hex() if routes.to_client else None


@pytest.mark.parametrize(
    "pdu,answer",
    [
        ("0a0a00", "0b" + b"Notibot".hex()),
        ("0c0a000300", "0d" + b"ibot".hex()),
        ("0c0a000800", "010c0a0007"),
        ("0a0c00", "0b4001"),
        ("0a0f00", "010a0f0002"),
        ("0a1000", "0b0000"),
        ("1210000200", "13"),
        ("12100002", "011210000d"),
        ("120a0041", "01120a0003"),
        ("160a00000041", "01160a0003"),
        ("520a0041", None),
        ("100800ffff0028", "1106" + "08000c000018" + "0d0010000118"),
        ("040800ffff", "0501" + "08000028" + "09000328" + "0a00002a" + "0b000328" + "0c00012a"),
        ("060800ffff00280118", "070d001000"),
        ("080800ffff0328", "0907" + "0900020a00002a" + "0b00020c00012a" + "0e00200f00052a"),
        ("080800ffff002a", "0909" + "0a00" + b"Notibot".hex()),
        ("080f00ffff052a", "01080f0002"),
    ],
)
def test_gap_and_gatt_are_behind_the_service(pdu, answer):
    assert asked(behind(1), pdu) == answer


def test_what_the_service_has_not_is_looked_up_behind_it():
    bearer = behind(3)
    routes = bearer.from_client(bytes.fromhex("080100ffff002a"))
    assert routes.to_server.hex() == "080100ffff002a"
    found = bearer.from_server(bytes.fromhex("010801000a"))
    assert found.to_client.hex() == "0909" + "0c00" + b"Notibot".hex()
    bearer.from_client(bytes.fromhex("0a0300"))
    assert bearer.from_server(bytes.fromhex("010801000a")).to_client.hex() == "010801000a"
    bearer.from_client(bytes.fromhex("080100ffff022a"))
    assert bearer.from_server(bytes.fromhex("010801000a")).to_client.hex() == "010801000a"


def test_answers_of_the_relay_obey_the_first_mtu():
    bearer = behind(1, "a name of 29 bytes, no longer")
    assert len(asked(bearer, "0a0a00")) == 2 * handles.DEFAULT_MTU
    for request, response in (("021900", "030502"), ("020502", "030502")):
        bearer.from_client(bytes.fromhex(request))
        bearer.from_server(bytes.fromhex(response))
        assert bearer.mtu == 25
    assert len(asked(bearer, "0a0a00")) == 2 * 25


def test_an_emulator_with_gap_and_gatt_gets_every_pdu():
    bearer = handles.PeripheralBearer()
    for pdu in ("0a0300", "100100ffff0028", "1210000200", "0a0a00"):
        assert bearer.from_client(bytes.fromhex(pdu)).to_server.hex() == pdu
    assert bearer.from_server(bytes.fromhex("010801000a")).to_client.hex() == "010801000a"


def test_a_central_confirms_indications_itself():
    bearer = handles.CentralBearer()
    assert bearer.from_server(bytes.fromhex("1d03000100ffff")) == handles.Routes(to_server=b"\x1e")
    assert bearer.from_server(bytes.fromhex("1b10000500")).to_client.hex() == "1b10000500"


@pytest.mark.parametrize("name,length,response", [("Notibot", 30, 0), ("Notibot!", 31, 0), ("Notibot 2", 21, 11)])
def test_a_name_is_advertised_or_in_the_scan_response(name, length, response):
    data = advertisement.made(name)
    assert [len(part) for part in data] == [length, response]
    assert data[0].startswith(bytes.fromhex("020106" + "1107" + SERVICE))
    assert data[bool(response)].endswith(bytes([len(name) + 1, 9]) + name.encode())


@pytest.mark.parametrize(
    "name,error,exit,fix",
    [
        ("hci0", PermissionError(errno.EPERM, "no"), 12, "CAP_NET_ADMIN"),
        ("hci0", OSError(errno.EBUSY, "busy"), 11, "btmgmt --index 0 power off"),
        ("hci1", OSError(errno.EUSERS, "users"), 11, "btmgmt --index 1 power off"),
        ("hci0", OSError(errno.ENODEV, "none"), 10, "plug it in"),
        ("hci0", OSError(errno.ERFKILL, "rfkill"), 18, "rfkill unblock"),
        ("hci0", TimeoutError(), 13, "plug it in again"),
        ("serial:/dev/ttyACM0", PermissionError(errno.EACCES, "no"), 12, "dialout"),
        ("serial:/dev/ttyACM0", FileNotFoundError(errno.ENOENT, "no"), 10, "plug it in"),
        ("usb:0", type("USBErrorAccess", (Exception,), {})(), 12, "sudo tee /etc/udev/rules.d/"),
        ("usb:0", type("USBErrorBusy", (Exception,), {})(), 11, "stop the program"),
        ("usb:0", type("TransportInitError", (Exception,), {})("device not found"), 10, "plug it in"),
        ("tcp-client:a:1", ConnectionRefusedError(errno.ECONNREFUSED, "refused"), 10, "start the controller"),
        ("tcp-client:a", ValueError("no port"), 2, "hciN"),
        ("hci0", RuntimeError("odd"), 18, "another"),
    ],
)
def test_a_failure_of_an_adapter_is_a_line_with_a_remedy(name, error, exit, fix):
    failure = adapter.explained(name, error)
    assert failure.exit == exit
    assert name in failure.what
    assert fix in failure.fix
    assert "\n" not in failure.what + failure.fix


@pytest.mark.parametrize("name", ["", "x", "hci", "hci0;", "usb:", "file:/etc/passwd", "pty", "vhci"])
def test_another_name_is_no_adapter(name):
    with pytest.raises(Failure) as raised:
        adapter.transport(name)
    assert raised.value.exit == 2


def test_a_python_without_bluetooth_sockets_is_named(monkeypatch):
    monkeypatch.delattr(socket, "AF_BLUETOOTH", raising=False)
    with pytest.raises(Failure) as raised:
        adapter.check("hci0")
    assert raised.value.exit == 18
    assert "without Bluetooth sockets" in raised.value.what
    adapter.check("usb:0")


@pytest.mark.parametrize("is_link", [True, False])
def test_a_python_of_its_own_gets_the_right_by_a_command_and_the_systems_does_not(monkeypatch, tmp_path, is_link):
    (tmp_path / "real").touch()
    python = tmp_path / "python3"
    python.symlink_to("real") if is_link else python.touch()
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(sys, "base_prefix", sys.prefix)
    assert "setcap" not in adapter.grant()
    monkeypatch.setattr(sys, "base_prefix", "/elsewhere")
    copy = f"cp --remove-destination {tmp_path}/real {python} && " if is_link else ""
    assert adapter.grant() == f"{copy}sudo setcap cap_net_admin+ep {python}"


@pytest.mark.parametrize("number,exit", [(errno.EAFNOSUPPORT, 18), (errno.EPERM, 12), (None, 10)])
def test_a_missing_kernel_or_adapter_is_found_before_it_is_opened(monkeypatch, number, exit):
    class Socket:
        def __init__(self, *_):
            if number:
                raise OSError(number, "refused")

        def close(self):
            pass

    monkeypatch.setattr(socket, "AF_BLUETOOTH", 31, raising=False)
    monkeypatch.setattr(socket, "BTPROTO_HCI", 1, raising=False)
    monkeypatch.setattr(socket, "socket", Socket)
    monkeypatch.setattr(adapter, "present", lambda: ["hci1"])
    with pytest.raises(Failure) as raised:
        adapter.check("hci0")
    assert raised.value.exit == exit
    if exit == 10:
        assert "hci1" in raised.value.fix
