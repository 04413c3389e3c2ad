"""Engines that end, lie, or answer nonsense while a build, a pull or a container is under way."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from fake_engine import VERSION, Asked, FakeServer, answers, connected, serving

from stackproof.compat.errors import InputError, OutsideError, StoppedError
from stackproof.containers.engine.build import BuildRequest, build_image
from stackproof.containers.engine.connect import Engine
from stackproof.containers.engine.container import Container, ContainerRequest
from stackproof.containers.engine.images import find_image, import_base, pull_image, push_image, resolve_tag
from stackproof.containers.engine.leftovers import labels, remove_leftovers

DIGEST = "sha256:" + "a" * 64
OTHER = "sha256:" + "b" * 64
SEEN = ("killed", "running")
REQUEST = BuildRequest("FROM scratch\n", {"in/a": b"content"}, "stackproof/layer:1")

Make = Callable[..., tuple[Engine, FakeServer]]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    with ExitStack() as stack:

        def make(more: dict[tuple[str, str], Any] | None = None, **given: Any) -> tuple[Engine, FakeServer]:
            server = stack.enter_context(serving(tmp_path / "s", {**answers(**given), **(more or {})}))
            return stack.enter_context(connected(monkeypatch, tmp_path / "s")), server

        yield make


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Asked.hang_up, "closed the connection before it had finished"),
        (lambda asked: asked.stream({"stream": "STEP 1/2"}, cut=True), "closed the connection before it had finished"),
        (lambda asked: asked.stream({"stream": "STEP 1/2"}), "closed the connection before it had finished"),
        (lambda asked: asked.stream(b"<html>busy</html>"), "does not speak the API of Docker"),
        (lambda asked: asked.stream(b"[1]"), "does not speak the API of Docker"),
        (lambda asked: asked.stream(b'{"stream": "x'), "does not speak the API of Docker"),
        (lambda asked: asked.say({"message": "out of order"}, 500), "  out of order\n"),
        (lambda asked: asked.say_bytes(b"\xff\xfe", 500), "It answered with status 500."),
        (lambda asked: asked.stream({"errorDetail": {"message": "odd"}, "error": "odd"}), "  odd\n"),
        (lambda asked: asked.stream({"errorDetail": 7, "error": None}), "The engine said nothing."),
        (lambda asked: asked.stream({"id": "moby.image.id", "aux": {"ID": 7}}), "before it had finished"),
    ],
    ids=[
        *("hangs-up", "cut-off", "says-no-image", "html", "list", "half-a-line", "error", "no-text", "failed"),
        *("odd-error", "odd-image"),
    ],
)
def test_a_build_that_comes_to_no_end_is_an_error_in_words(fake: Make, answer: object, said: str) -> None:
    engine, _ = fake(POST_build=answer)
    with pytest.raises(OutsideError) as failed:
        build_image(engine, REQUEST)
    assert str(failed.value).startswith("building stackproof/layer:1: ")
    assert said in str(failed.value)


def test_a_full_disk_names_the_engines_folder(fake: Make) -> None:
    full = "write /var/lib/engine/overlay2/x/diff/opt: no space left on device"
    engine, _ = fake(POST_build=lambda asked: asked.stream({"errorDetail": {"message": full}, "error": full}))
    with pytest.raises(OutsideError, match=r"no space is left(.|\n)*Free some space below /var/lib/engine\."):
        build_image(engine, REQUEST)


def test_a_built_image_is_told_by_its_id_and_the_context_arrives_whole(fake: Make) -> None:
    bodies = []

    def built(asked: Asked) -> None:
        bodies.append(asked.body())
        asked.headers.replace_header("Transfer-Encoding", "none")
        asked.stream({"id": "moby.image.id", "aux": {"ID": DIGEST}})

    engine, server = fake(POST_build=built)
    assert build_image(engine, REQUEST) == DIGEST
    assert b"in/a" in bodies[0]
    assert b"content" in bodies[0]
    query = next(query for method, path, query in server.asked if path == "/build")
    assert (query["networkmode"], query["t"]) == ("none", "stackproof/layer:1")


def test_only_what_a_build_left_of_its_context_is_removed(fake: Make) -> None:
    def record(name: str, text: str, *, used: bool = False) -> dict[str, object]:
        return {"ID": name, "Description": text, "InUse": used}

    old, kept = record("old", "fileop target"), record("kept", "mount / from exec /bin/sh -c make")
    killed, running = (record(name, f"http url http://build-context-{name}", used=name == "running") for name in SEEN)
    new = [record("tar", "http url http://build-context-x"), record("files", "fileop target")]
    before = [old, killed, running]
    found = [before, [*before, *new, kept, record("anothers", "fileop target", used=True)]]
    engine, server = fake(
        {
            ("GET", "/system/df"): lambda asked: asked.say({"BuildCache": found.pop(0)}),
            ("POST", "/build/prune"): lambda asked: asked.say({}),
        },
        POST_build=lambda asked: asked.stream({"aux": {"ID": DIGEST}}),
    )
    build_image(engine, REQUEST)
    pruned = [json.loads(query["filters"])["id"] for _, path, query in server.asked if path == "/build/prune"]
    assert sorted(pruned) == [["files"], ["killed"], ["tar"]]


def test_an_engine_that_counts_for_another_is_asked_again_and_the_build_goes_on(fake: Make) -> None:
    busy = {"message": "a disk usage operation is already running"}
    tar = {"ID": "tar", "Description": "http url http://build-context-x"}
    found: list[tuple[object, int]] = [
        (busy, 500),
        ({"BuildCache": []}, 200),
        (busy, 500),
        ({"BuildCache": [tar]}, 200),
    ]
    engine, server = fake(
        {("POST", "/build/prune"): lambda asked: asked.say({})},
        GET_system_df=lambda asked: asked.say(*found.pop(0)),
        POST_build=lambda asked: asked.stream({"aux": {"ID": DIGEST}}),
    )
    assert build_image(engine, REQUEST) == DIGEST
    assert [json.loads(query["filters"]) for _, path, query in server.asked if path == "/build/prune"] == [
        {"id": ["tar"]}
    ]


def test_a_build_cache_that_cannot_be_looked_at_is_no_reason_not_to_build(fake: Make) -> None:
    engine, _ = fake(
        GET_system_df=lambda asked: asked.say({"message": "out of order"}, 500),
        POST_build=lambda asked: asked.stream({"aux": {"ID": DIGEST}}),
    )
    assert build_image(engine, REQUEST) == DIGEST


@pytest.mark.parametrize("answer", [VERSION, [], [7], "x", 7], ids=["version", "list", "numbers", "text", "number"])
def test_an_engine_that_always_answers_the_same_is_no_traceback(fake: Make, answer: object) -> None:
    say = lambda asked: asked.say(answer)  # noqa: E731 - one answer for all
    engine, _ = fake(
        {("GET", "/containers/json"): lambda asked: asked.say(None), ("GET", "/volumes"): say},
        GET_system_df=say,
        POST_build=say,
    )
    if answer != VERSION:  # an object without volumes is an answer
        with pytest.raises(OutsideError, match="does not speak the API of Docker"):
            remove_leftovers(engine)
    with pytest.raises(OutsideError):
        build_image(engine, REQUEST)


@pytest.mark.parametrize("answer", [VERSION, {}, [7], [{}], [{"Id": 7}], "x"])
def test_a_list_of_containers_that_is_none_is_no_traceback(fake: Make, answer: object) -> None:
    engine, _ = fake({("GET", "/containers/json"): lambda asked: asked.say(answer)})
    with pytest.raises(OutsideError, match="does not speak the API of Docker"):
        remove_leftovers(engine)


@pytest.mark.parametrize("answer", [7, {"a": 1}, [7], [{}], [{"Name": None}]])
def test_a_list_of_volumes_that_is_none_is_no_traceback(fake: Make, answer: object) -> None:
    engine, _ = fake(
        {
            ("GET", "/containers/json"): lambda asked: asked.say([]),
            ("GET", "/volumes"): lambda asked: asked.say({"Volumes": answer}),
        }
    )
    with pytest.raises(OutsideError, match="does not speak the API of Docker"):
        remove_leftovers(engine)


def test_a_build_that_says_nothing_is_stopped_when_asked(fake: Make) -> None:
    cancel, ends = threading.Event(), threading.Event()

    def silent(asked: Asked) -> None:
        asked.body()
        asked.send_response(200)
        asked.end_headers()
        asked.wfile.flush()
        cancel.set()
        ends.wait(20)
        asked.hang_up()

    engine, server = fake(POST_build=silent)
    start = time.monotonic()
    with pytest.raises(StoppedError):
        build_image(engine, REQUEST, cancel=cancel)
    assert time.monotonic() - start < 5
    assert "/build/cancel" in [path for _, path, _ in server.asked]
    ends.set()


@pytest.mark.parametrize("tag", ["x:$(y)", "--output", "a b"])
def test_no_tag_from_outside_reaches_the_engine_unchecked(fake: Make, tag: str) -> None:
    engine, server = fake()
    with pytest.raises(InputError):
        build_image(engine, BuildRequest("FROM scratch\n", {}, tag))
    assert not [path for _, path, _ in server.asked if path == "/build"]


def test_a_file_called_dockerfile_does_not_take_its_place(fake: Make) -> None:
    engine, _ = fake()
    with pytest.raises(InputError, match="name of the Dockerfile itself"):
        build_image(engine, BuildRequest("FROM scratch\n", {"Dockerfile": b"FROM evil\n"}, "a:b"))


@pytest.mark.parametrize(
    "found",
    [
        {"Id": OTHER, "RepoDigests": [f"registry.example/x@{OTHER}"]},
        {"Id": OTHER, "RepoDigests": None},
        {"Id": OTHER, "RepoDigests": [f"registry.example/x@{DIGEST}0"]},
    ],
)
def test_an_engine_that_has_another_digest_after_a_pull_is_not_believed(fake: Make, found: object) -> None:
    engine, _ = fake(
        {("GET", f"/images/registry.example/x@{DIGEST}/json"): lambda asked: asked.say(found)},
        POST_images_create=lambda asked: asked.stream({"status": f"Digest: {DIGEST}"}),
    )
    with pytest.raises(OutsideError, match="does not have the digest asked for"):
        pull_image(engine, "registry.example/x", DIGEST)


def test_a_pull_that_the_engine_refuses_is_told_by_its_words(fake: Make) -> None:
    said = "manifest verification failed for digest"
    engine, _ = fake(POST_images_create=lambda asked: asked.stream({"error": said}))
    with pytest.raises(OutsideError, match=r"digest asked for(.|\n)*Do not trust that registry"):
        pull_image(engine, "registry.example/x", DIGEST)


def test_a_push_without_a_digest_is_no_push(fake: Make) -> None:
    engine, _ = fake(
        {
            ("POST", "/images/stackproof/x:1/tag"): lambda asked: asked.say({}, 201),
            ("POST", "/images/registry.example/x/push"): lambda asked: asked.stream({"status": "Pushed"}),
        }
    )
    with pytest.raises(OutsideError, match="before it had finished"):
        push_image(engine, "stackproof/x:1", "registry.example/x", "1")


@pytest.mark.parametrize("found", [[], {}, {"Descriptor": {"digest": "sha256:1"}}, {"Descriptor": {"digest": 7}}])
def test_a_tag_that_stands_for_no_digest_is_an_error(fake: Make, found: object) -> None:
    engine, _ = fake({("GET", "/distribution/registry.example/x:1/json"): lambda asked: asked.say(found)})
    with pytest.raises(OutsideError, match="does not speak the API of Docker"):
        resolve_tag(engine, "registry.example/x", "1")


@pytest.mark.parametrize("found", [[], {}, {"Id": 7}, "x"])
def test_an_image_without_an_id_is_none(fake: Make, found: object) -> None:
    engine, _ = fake({("GET", "/images/x:1/json"): lambda asked: asked.say(found)})
    with pytest.raises(OutsideError, match="does not speak the API of Docker"):
        find_image(engine, "x:1")


@pytest.mark.parametrize(
    "labels", [{"a b": "c"}, {"a": 'b" LABEL x="y'}, {"a": "b\nRUN x"}, {"a": "$HOME"}, {"a": "\\"}, {"A": "b"}]
)
def test_a_label_that_could_be_an_instruction_is_refused(fake: Make, tmp_path: Path, labels: dict[str, str]) -> None:
    engine, _ = fake()
    (tmp_path / "tar").write_bytes(b"")
    with pytest.raises(InputError, match=r"labels\."):
        import_base(engine, tmp_path / "tar", "a:b", labels)


def test_a_base_that_is_not_there_is_no_traceback(fake: Make, tmp_path: Path) -> None:
    engine, _ = fake()
    with pytest.raises(OutsideError, match="No such file or directory"):
        import_base(engine, tmp_path / "absent.tar", "a:b", {})


@pytest.mark.parametrize("state", [{"State": None}, {"State": 7}, {}, []], ids=["none", "number", "nothing", "list"])
def test_a_container_that_cannot_start_is_removed_with_its_folder(fake: Make, state: object) -> None:
    described = []

    def made(asked: Asked) -> None:
        described.append(json.loads(asked.body()))
        asked.headers.replace_header("Content-Length", "0")
        asked.say({"Id": "c" * 64}, 201)

    empty = lambda asked: asked.say_bytes(b"")  # noqa: E731 - as above
    name = "/containers/" + "c" * 64
    engine, server = fake(
        {
            ("POST", "/volumes/create"): lambda asked: asked.say({"Name": "v"}, 201),
            ("GET", "/images/x:1/json"): lambda asked: asked.say({"Id": DIGEST, "Config": {}}),
            ("POST", "/containers/create"): made,
            ("PUT", f"{name}/archive"): lambda asked: asked.say({}),
            ("POST", f"{name}/attach"): lambda asked: asked.say({"message": "no"}, 500),
            ("GET", f"{name}/json"): lambda asked: asked.say(state),
            ("DELETE", name): empty,
        }
    )
    with (
        pytest.raises(OutsideError, match="attaching to a container"),
        Container(engine, ContainerRequest("x:1", ("x",))) as made_,
    ):
        made_.start()
    removed = [path for method, path, _ in server.asked if method == "DELETE"]
    assert removed.count(name) == 2
    assert [path for path in removed if path.startswith("/volumes/stackproof-")]
    # So that the next run finds either of them, wherever this one is killed.
    assert [container["Labels"] for container in described] == [labels()] * 2
