"""Virtual adapters on one virtual air, each at a TCP port, or of this computer's kernel.

Prints the names of the adapters as a line of JSON, and ends when standard input closes. The
controllers are Bumble's, with four repairs that its version 0.0.236 needs.
"""

import argparse
import asyncio
import dataclasses
import json
import logging
import socket
import sys

from bumble.controller import Controller
from bumble.core import PhysicalTransport
from bumble.hci import (
    Address,
    HCI_AclDataPacket,
    HCI_ErrorCode,
    HCI_LE_Connection_Complete_Event,
    HCI_LE_Enhanced_Connection_Complete_Event,
    HCI_StatusReturnParameters,
    Role,
)
from bumble.link import LocalLink
from bumble.transport import open_transport
from bumble.transport.tcp_server import open_tcp_server_transport_with_socket

# What a link carries in a packet at most.
DATA_LENGTH_BYTES = 251


class Air(LocalLink):
    """Labels data with the address that the link uses. Bumble's labels it with the random address
    of the sender, which a host can have changed since."""

    def send_acl_data(self, sender_controller, destination_address, transport, data):
        receiver = self.find_le_controller(destination_address)
        link = sender_controller.le_connections.get(destination_address)
        if transport == PhysicalTransport.LE and receiver and link:
            source = link.self_address
            asyncio.get_running_loop().call_soon(lambda: receiver.on_link_acl_data(source, transport, data))


class AirController(Controller):
    """Splits data as a radio does: Bumble's gives a host one packet of any size. Ends an attempt to
    connect: Bumble's goes on with it, and refuses the next one. Reports a connection by the event
    that its features promise: Linux waits 20 s for that one."""

    def on_hci_le_create_connection_cancel_command(self, command):
        if pending := self.pending_le_connection:
            self.pending_le_connection = None
            ended = HCI_LE_Connection_Complete_Event(
                status=HCI_ErrorCode.UNKNOWN_CONNECTION_IDENTIFIER_ERROR,
                connection_handle=0,
                role=Role.CENTRAL,
                peer_address_type=pending.peer_address.address_type,
                peer_address=pending.peer_address,
                connection_interval=0,
                peripheral_latency=0,
                supervision_timeout=0,
                central_clock_accuracy=0,
            )
            # Behind the answer to the command.
            asyncio.get_running_loop().call_soon(self.send_hci_packet, ended)
        return super().on_hci_le_create_connection_cancel_command(command)

    def send_hci_packet(self, packet):
        if isinstance(packet, HCI_LE_Connection_Complete_Event):
            fields = {item.name: getattr(packet, item.name) for item in dataclasses.fields(packet) if item.init}
            none = {f"{side}_resolvable_private_address": Address.ANY_RANDOM for side in ("local", "peer")}
            packet = HCI_LE_Enhanced_Connection_Complete_Event(**fields, **none)
        super().send_hci_packet(packet)

    def on_link_acl_data(self, sender_address, transport, data):
        link = self.le_connections.get(sender_address)
        if link is None:
            return
        for at in range(0, len(data), DATA_LENGTH_BYTES):
            part = data[at : at + DATA_LENGTH_BYTES]
            self.send_hci_packet(HCI_AclDataPacket(link.handle, 1 if at else 2, 0, len(part), part))


class RefusingController(AirController):
    """Does not advertise."""

    def on_hci_le_set_extended_advertising_enable_command(self, command):
        return HCI_StatusReturnParameters(HCI_ErrorCode.COMMAND_DISALLOWED_ERROR)


async def tcp_port(_index: int):
    # With this protocol asyncio switches the wait for full packets off.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    return await open_tcp_server_transport_with_socket(listener), f"tcp-client:127.0.0.1:{listener.getsockname()[1]}"


async def kernel_adapter(index: int):
    """Of a kernel without other adapters; needs its module hci_vhci."""
    return await open_transport("vhci"), f"hci{index}"


async def serve(options: argparse.Namespace) -> None:
    loop = asyncio.get_running_loop()
    air, controllers, names = Air(), [], []
    make = RefusingController if options.refuse else AirController
    for index in range(options.count):
        transport, name = await (kernel_adapter if options.kernel else tcp_port)(index)
        address = Address(f"00:AA:01:00:00:0{index}", Address.PUBLIC_DEVICE_ADDRESS)
        controllers.append(
            make(
                f"C{index}",
                host_source=transport.source,
                host_sink=transport.sink,
                link=air,
                public_address=str(address),
            )
        )
        names.append(name)
    print(json.dumps(names), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    parser = argparse.ArgumentParser(prog="python -m tools.ble.air", description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=3, help="of adapters (default: 3)")
    parser.add_argument("--kernel", action="store_true", help="adapters of the kernel, from hci0 on; as root")
    parser.add_argument("--refuse", action="store_true", help="they do not advertise")
    asyncio.run(serve(parser.parse_args()))
