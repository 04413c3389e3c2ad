"""The page in a real browser, offline: what a person sees, hears and can do with it."""

from __future__ import annotations

import re
import runpy
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect, sync_playwright
from required import need

from stackproof.matrix.report.write import write_reports

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

SAMPLE = runpy.run_path(str(Path(__file__).parents[1] / "matrix" / "report" / "sample.py"))
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
INCORRECT = "torch2.15.0-py311-gpt_tiny"
BROKEN = "tensorflow-cpu2.21.0-py311-mlp_tiny"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    chromium = next((path for path in found if path), None)
    need("browser", "" if chromium else "install chromium (Debian's package of that name)")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    made = {}
    for name in ("certified_report", "every_verdict_report", "large_report"):
        folder = tmp_path_factory.mktemp(name)
        write_reports(SAMPLE[name](), folder)
        made[name.removesuffix("_report")] = (folder / "report.html").as_uri()
    return made


@contextmanager
def opened(browser: Browser, url: str, width: int = 1440, height: int = 900, **options: Any) -> Iterator[Page]:
    """Open a page; any request beyond the file itself, console message or script error fails the test."""
    context = browser.new_context(viewport={"width": width, "height": height}, **options)
    context.set_default_timeout(10_000)
    page = context.new_page()
    wrong: list[str] = []
    file = url.partition("#")[0]
    page.on("request", lambda made: wrong.append(made.url) if made.url.partition("#")[0] != file else None)
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.goto(url)
    yield page
    context.close()
    assert wrong == []


def test_verdict_of_a_cell_can_be_read(browser: Browser, pages: dict[str, str]) -> None:
    with opened(browser, pages["certified"]) as page:
        assert page.title() == "quickstart: 12 of 12 cells certified"
        tile = page.locator("[data-cell='jax0.10.2-py311-mlp_tiny']")
        assert tile.get_attribute("data-verdict") == "certified"
        expect(page.locator("[data-cell][data-verdict=certified]")).to_have_count(12)
        expect(tile).to_contain_text("trained-cpu")


def test_click_opens_the_details(browser: Browser, pages: dict[str, str]) -> None:
    with opened(browser, pages["every_verdict"]) as page:
        page.locator(f"[data-cell='{INCORRECT}']").click()
        dialog = page.get_by_role("dialog", name=INCORRECT)
        expect(dialog).to_be_visible()
        expect(page).to_have_url(re.compile(re.escape(f"#cell={INCORRECT}") + "$"))
        expect(dialog.locator("[data-check=trajectory]")).to_have_attribute("data-outcome", "fail")
        expect(dialog).to_contain_text("left the envelope at step 3 (grad_norm)")
        expect(dialog.locator("svg.chart")).to_have_count(5)
        expect(dialog.locator("svg.chart").nth(3)).to_contain_text("leaves at step 3")
        dialog.locator("summary").click()
        dialog.get_by_label("Find packages").fill("numpy")
        expect(dialog.locator(".packages li:visible")).to_have_text([re.compile("numpy.*2.4.6")])
        page.keyboard.press("Escape")  # empties the search
        expect(dialog.locator(".packages li:visible")).to_have_count(38)
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
        expect(page).not_to_have_url(re.compile("#"))


def test_address_opens_a_cell_and_next_goes_on(browser: Browser, pages: dict[str, str]) -> None:
    with opened(browser, f"{pages['every_verdict']}#cell={BROKEN}") as page:
        expect(page.get_by_role("dialog", name=BROKEN)).to_contain_text("ImportError: libcudart.so.13")
        page.get_by_role("button", name="Next cell").click()
        expect(page.get_by_role("dialog", name="jax0.9.2-py311-gpt_tiny")).to_be_visible()
        page.get_by_role("button", name="Close").click()
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_unknown_cell_in_the_address_opens_nothing(browser: Browser, pages: dict[str, str]) -> None:
    for fragment in ("#cell=nothing", "#cell=%E0%A4%A"):
        with opened(browser, pages["certified"] + fragment) as page:
            expect(page.get_by_role("dialog")).to_have_count(0)


def test_keyboard_alone_is_enough(browser: Browser, pages: dict[str, str]) -> None:
    with opened(browser, pages["certified"]) as page:
        page.locator("[data-cell='torch2.13.0-py311-gpt_tiny']").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog", name="torch2.15.0-py311-mlp_tiny")
        expect(dialog).to_be_visible()
        dialog.locator("svg.chart").first.focus()
        page.keyboard.press("Home")
        expect(dialog.get_by_role("status").first).to_contain_text("step1measured")
        page.keyboard.press("ArrowRight")
        expect(dialog.get_by_role("status").first).to_contain_text("step2measured")
        page.keyboard.press("Escape")
        expect(page.locator("[data-cell='torch2.15.0-py311-mlp_tiny']")).to_be_focused()


def test_chips_and_search_narrow_the_grid(browser: Browser, pages: dict[str, str]) -> None:
    with opened(browser, pages["large"]) as page:
        expect(page.locator(".tile:visible")).to_have_count(120)
        page.locator("[data-filter=regressed]").click()
        regressed = page.locator(".tile[data-verdict=regressed]").count()
        assert 0 < regressed < 120
        expect(page.locator(".tile:visible")).to_have_count(regressed)
        page.locator("[data-filter=regressed]").click()
        page.get_by_label("Find cells by name").fill("jax0.9.2 gpt_tiny")
        expect(page.locator(".tile:visible")).to_have_count(3)
        page.get_by_label("Find cells by name").fill("no such cell")
        page.get_by_role("button", name="Show all cells").click()
        expect(page.locator(".tile:visible")).to_have_count(120)


@pytest.mark.parametrize("name", ["certified", "every_verdict", "large"])
@pytest.mark.parametrize("width", [360, 390, 800, 1440])
def test_page_never_scrolls_sideways(browser: Browser, pages: dict[str, str], name: str, width: int) -> None:
    with opened(browser, pages[name], width=width, height=844) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.locator(".tile").nth(2).click()
        expect(page.get_by_role("dialog")).to_be_visible()
        assert page.evaluate("(d => d.scrollWidth - d.clientWidth)(document.querySelector('dialog'))") <= 0


def test_dark_follows_the_system_and_the_button(browser: Browser, pages: dict[str, str]) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    with opened(browser, pages["certified"], color_scheme="dark") as page:
        dark = page.evaluate(ground)
        page.get_by_role("button", name="Theme: auto").click()
        light = page.evaluate(ground)
        assert (dark, light) == ("rgb(19, 21, 23)", "rgb(250, 250, 249)")
        page.reload()
        assert page.evaluate(ground) == light
    with opened(browser, pages["certified"], color_scheme="light") as page:
        assert page.evaluate(ground) == light


def test_hostile_strings_are_shown_and_not_run(browser: Browser, pages: dict[str, str]) -> None:
    with opened(browser, pages["every_verdict"]) as page:
        tile = page.locator(".tile[data-cell*='script']")
        assert tile.get_attribute("data-verdict") == "broken"
        tile.click()
        dialog = page.get_by_role("dialog")
        expect(dialog.locator(".log")).to_contain_text("</script><script>document.title='owned'</script>")
        expect(dialog.locator(".log")).to_contain_text("red nul back  end")
        expect(page.locator("img")).to_have_count(0)
        assert "owned" not in page.title()


def test_motion_stops_where_it_is_not_wanted(browser: Browser, pages: dict[str, str]) -> None:
    with opened(browser, f"{pages['certified']}#cell={INCORRECT}", reduced_motion="reduce") as page:
        assert page.evaluate("getComputedStyle(document.querySelector('dialog')).animationName") == "none"


def test_page_reads_without_scripts(browser: Browser, pages: dict[str, str]) -> None:
    with opened(browser, pages["every_verdict"], java_script_enabled=False) as page:
        expect(page.locator(f"[data-cell='{INCORRECT}']")).to_have_attribute("data-verdict", "incorrect")
        expect(page.locator(".findings")).to_contain_text("left the envelope at step 3 (grad_norm)")
        expect(page.locator(".noscript")).to_be_visible()
