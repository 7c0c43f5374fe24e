"""A driver for labgrid, `NotibotDriver`: an environment has `imports: [notibot.labgrid]`."""

# labgrid declares no types.
# mypy: ignore-errors

from __future__ import annotations

import time
from typing import Any

import attr
from labgrid.binding import BindingState
from labgrid.driver import Driver
from labgrid.factory import target_factory
from labgrid.protocol import PowerProtocol, ResetProtocol
from labgrid.resource import SerialPort
from labgrid.step import step
from labgrid.util.proxy import proxymanager

from notibot._program import NotibotError
from notibot.board import Board, Console, Events, Sent
from notibot.suite import SuiteReport

# labgrid's default speed of a port. A Notibot's is 921600 (FRM-17).
UNSET_SPEED = 115200
RETRY_SECONDS = 0.2
# Codes of a board that still restarts: no port, no answer, connection lost.
RESTARTING = (10, 13, 14)


def _suppliers(driver: Any) -> set[Any]:
    return set(driver.suppliers).union(*map(_suppliers, driver.suppliers))


@target_factory.reg_driver
@attr.s(eq=False)
class NotibotDriver(Driver, ResetProtocol):
    """A Notibot at a serial port of the target, local or exported.

    Each call opens the port and closes it again; other drivers that have it open are deactivated.
    Errors are NotibotError.

    Args:
        baud (int): rate; if omitted, the port's speed, or 921600 if that is labgrid's default
        image (str): key in the environment's `images:` that `flash` writes
        start_seconds (float): time limit for the board to answer after `reset`
    """

    bindings = {
        "port": {"SerialPort", "NetworkSerialPort"},
        "power": {PowerProtocol, None},
        "reset_driver": {ResetProtocol, None},
    }
    # After any other driver that can reset the target; those for power have -10.
    priorities = {ResetProtocol: -20}

    baud = attr.ib(default=None, validator=attr.validators.optional(attr.validators.instance_of(int)))
    image = attr.ib(default=None, validator=attr.validators.optional(attr.validators.instance_of(str)))
    start_seconds = attr.ib(default=10.0, converter=float)

    @Driver.check_active
    def board(self) -> Board:
        """The board, at the port's address of this moment, which no other driver uses now."""
        own = _suppliers(self)
        for client in list(self.port.clients):
            if client is not self and client not in own and client.state is BindingState.active:
                self.logger.info("deactivating %s, which has the port open", client.display_name)
                self.target.deactivate(client)
        speed = None if self.port.speed == UNSET_SPEED else self.port.speed
        return Board(self._address(), baud=self.baud or speed)

    def _address(self) -> str:
        if isinstance(self.port, SerialPort):
            return str(self.port.port)
        if self.port.port is None:
            raise NotibotError(f"{self.port.display_name} has no TCP port: is the board connected?", 10)
        # Opens a tunnel if the resource or LG_PROXY needs one.
        host, port = proxymanager.get_host_and_port(self.port)
        scheme = "socket" if self.port.protocol == "raw" else "rfc2217"
        return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"

    @Driver.check_active
    @step()
    def count(self) -> int:
        """`Board.count`."""
        return self.board().count()

    @Driver.check_active
    @step(args=["app", "title", "text"])
    def send(self, app: str, title: str, text: str = "", **options: Any) -> Sent:
        """`Board.send`."""
        return self.board().send(app, title, text, **options)

    @Driver.check_active
    @step(args=["options"])
    def events(self, **options: Any) -> Events:
        """`Board.events`: a stream for the time of a `with`."""
        return self.board().events(**options)

    @Driver.check_active
    @step(args=["options"])
    def console(self, **options: Any) -> Console:
        """`Board.console`: a stream for the time of a `with`."""
        return self.board().console(**options)

    @Driver.check_active
    @step(args=["options"])
    def run_suite(self, **options: Any) -> SuiteReport:
        """`Board.run_suite`."""
        return self.board().run_suite(**options)

    @Driver.check_active
    @step(args=["images"])
    def flash(self, *images: str, **options: Any) -> dict[str, Any]:
        """`Board.flash`; without images, writes that of the driver's `image`."""
        if not images and self.image is not None:
            images = (self.target.env.config.get_image_path(self.image),)
        if not images:
            raise NotibotError("no image to flash; name one, or set `image` of the driver", 2)
        return self.board().flash(*images, **options)

    @Driver.check_active
    @step()
    def reset(self) -> None:
        """Restarts the board by labgrid's driver for reset or power, if the target has one above
        this one, else by the lines of its port; returns when it answers."""
        if self.reset_driver is not None:
            self.reset_driver.reset()
        elif self.power is not None:
            self.power.cycle()
        else:
            self.board().reset()
        end = time.monotonic() + self.start_seconds
        while True:
            try:
                self.board().count()
                return
            except NotibotError as error:
                if error.code not in RESTARTING or time.monotonic() > end:
                    raise
            time.sleep(RETRY_SECONDS)
