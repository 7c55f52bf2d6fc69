"""A Chromium without a window, from Debian's packages or any other place on the path."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

import pytest

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


@contextmanager
def chromium() -> Iterator:
    """A driver of a Chromium with a fresh profile; without one, or without selenium, skips."""
    selenium = pytest.importorskip("selenium.webdriver")
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("no Chromium here (on Debian: apt-get install chromium chromium-driver)")
    options = selenium.ChromeOptions()
    options.binary_location = browser
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with TemporaryDirectory(prefix="chromium-") as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        service = selenium.ChromeService(executable_path=driver)
        opened = selenium.Chrome(options=options, service=service)
        try:
            yield opened
        finally:
            opened.quit()


def pretend(driver, **features: str) -> None:
    """Sets media features, as ``prefers_color_scheme="dark"``, and ``media="print"``."""
    media = features.pop("media", "")
    named = [{"name": n.replace("_", "-"), "value": value} for n, value in features.items()]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": named})


def resize(driver, width: int, height: int = 900) -> None:
    """A viewport of so many CSS pixels."""
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
    )
