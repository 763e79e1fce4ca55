"""The page: its controls, and the answer that each of them asks for."""

import os
import signal
import socket
import tempfile
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

import gradio as gr

from bayesgan.base.errors import BayesganError
from bayesgan.data.decode import SUFFIXES
from bayesgan.explore import html, pad
from bayesgan.explore.answers import NOTHING, Explorer

LARGEST_UPLOAD = "10mb"
# A network holds the weights that it is called with: two threads would mix theirs up.
ONE_AT_A_TIME = threading.Lock()
LARGEST_SEED = 2**31 - 1


def page(explorer: Explorer, title: str) -> gr.Blocks:
    """Build the page of a run; a tab that the run cannot fill says why."""
    with gr.Blocks(title=f"{title} – bayesgan", analytics_enabled=False) as blocks:
        gr.Markdown(f"# {title}")
        tabs: list[tuple[str, str | None, Callable[[gr.Blocks, gr.Tab, Explorer], None]]] = [
            ("Pictures", explorer.no_pictures, _pictures),
            ("Walk", explorer.no_pictures, _walk),
            ("Draw", explorer.no_classes, _draw),
            ("Unsure", explorer.no_images, _least_sure),
            ("Label", explorer.no_images, _worth_a_label),
        ]
        for name, reason, fill in tabs:
            with gr.Tab(name) as tab:
                if reason is None:
                    fill(blocks, tab, explorer)
                else:
                    gr.HTML(html.sentence(reason))
    return blocks


def launch(explorer: Explorer, title: str, host: str, port: int, started: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C or the end of the process; ``started`` is called with its address."""
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise BayesganError(f"Nothing can be served at {host}, port {port} ({reason}): give another --port.") from None
    with tempfile.TemporaryDirectory(prefix="bayesgan-explore-") as uploads:
        os.environ["GRADIO_TEMP_DIR"] = uploads  # what is uploaded is gone with the page
        blocks = page(explorer, title)
        _, address, _ = blocks.launch(
            server_name=host,
            server_port=port,
            share=False,
            inbrowser=False,
            quiet=True,
            prevent_thread_lock=True,
            max_file_size=LARGEST_UPLOAD,
            footer_links=[],
            ssr_mode=False,
            theme=theme(),
            css=html.CSS,
            head=html.HEAD,
        )
        started(address)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # then the uploads go too
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass  # the way to end it
        finally:
            blocks.close(verbose=False)


def theme() -> gr.themes.Base:
    """A theme with the fonts of the system: others would be downloaded."""
    fonts = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "sans-serif"]
    return gr.themes.Default(font=fonts, font_mono=["ui-monospace", "Consolas", "monospace"])


def answered(ask: Callable[..., str]) -> Callable[..., str]:
    """Let ``ask`` answer one question at a time; an error becomes a sentence in the place of the answer."""

    @wraps(ask)
    def answer(*values: Any) -> str:
        try:
            with ONE_AT_A_TIME:
                return ask(*values)
        except BayesganError as error:
            return html.sentence(str(error))

    return answer


def _pictures(blocks: gr.Blocks, _: gr.Tab, explorer: Explorer) -> None:
    choices = [(name, number) for number, name in enumerate(explorer.names)]
    gr.Markdown("Every row is one sampled generator, every column the same noise in all of them.")
    with gr.Row():
        which = gr.Dropdown(choices, value=explorer.newest, multiselect=True, label="Generators", scale=3)
        number = gr.Slider(1, 32, 10, step=1, label="Pictures of each", min_width=200)
        seed = _seed("Noise seed", 0)
    _live([which, number, seed], explorer.generated, gr.HTML(elem_id="generated"), blocks)


def _walk(blocks: gr.Blocks, _: gr.Tab, explorer: Explorer) -> None:
    choices = [(name, number) for number, name in enumerate(explorer.names)]
    gr.Markdown(
        "Between two noise vectors pictures change into each other. Between the weights of two sampled "
        "generators they may fall apart: the posterior need not have mass there."
    )
    with gr.Row():
        with gr.Column(min_width=280):
            seed, other_seed = _seed("From noise seed", 0), _seed("To noise seed", 1)
            noise_share = gr.Slider(0, 1, 0.5, step=0.01, label="Between the noise vectors", elem_id="noise-share")
        with gr.Column(min_width=280):
            one = gr.Dropdown(choices, value=0, label="From generator")
            other = gr.Dropdown(choices, value=len(choices) - 1, label="To generator")
            weights_share = gr.Slider(0, 1, 0, step=0.01, label="Between the generators", elem_id="weights-share")
    controls = [one, other, weights_share, seed, other_seed, noise_share]
    _live(controls, explorer.walked, gr.HTML(elem_id="walked"), blocks)


def _draw(_: gr.Blocks, __: gr.Tab, explorer: Explorer) -> None:
    coloured = explorer.posterior.shape[0] > 1
    with gr.Row():
        with gr.Column(min_width=300):
            gr.Markdown("Draw with mouse or finger.")
            drawing = gr.HTML(
                html_template=pad.HTML,
                css_template=pad.CSS,
                js_on_load=pad.JS,
                coloured=coloured,
                brush=pad.brush(explorer.posterior.shape[2]),
                elem_id="pad",
            )
            file = gr.File(label="Or upload a picture", file_types=list(SUFFIXES), height=140, elem_id="upload")
            gr.Markdown(
                "A drawing is brought to the form of the training pictures; an upload is only cropped and scaled."
            )
        with gr.Column(min_width=300, scale=2):
            verdict = gr.HTML(html.sentence(NOTHING), elem_id="verdict")

    @answered
    def drawn(text: Any) -> str:
        return explorer.judged_drawing(pad.received(text))

    def sent(event: gr.EventData) -> str:
        return drawn(event.drawing)

    drawing.input(sent, None, verdict, trigger_mode="always_last", show_progress="minimal")
    _live([file], explorer.judged_file, verdict)


def _least_sure(_: gr.Blocks, tab: gr.Tab, explorer: Explorer) -> None:
    with gr.Row():
        number = gr.Slider(6, 96, 24, step=6, label="Test images")
        by = gr.Radio(explorer.orders, value=explorer.orders[0], label="Least sure by")
    result = gr.HTML(html.sentence("The sampled networks look at the test images …"), elem_id="least-sure")
    _live([number, by], explorer.least_sure, result, tab)


def _worth_a_label(_: gr.Blocks, __: gr.Tab, explorer: Explorer) -> None:
    gr.Markdown(
        "Unlabelled training images that are most worth a label: the sampled networks disagree about them, which is "
        "their mutual information in nats, and they are spread over what they look like. One network alone disagrees "
        "with none: then it is the entropy."
    )
    with gr.Row():
        budget = gr.Slider(1, 60, 20, step=1, label="Labels")
        seed = _seed("Seed", 0)
    button = gr.Button("Suggest", variant="primary")
    result = gr.HTML(elem_id="to-label")
    button.click(answered(explorer.to_label), [budget, seed], result)


def _seed(label: str, value: int) -> gr.Number:
    return gr.Number(value, label=label, precision=0, minimum=0, maximum=LARGEST_SEED, min_width=120)


def _live(
    controls: list[Any], ask: Callable[..., str], result: gr.HTML, shown_with: gr.Blocks | gr.Tab | None = None
) -> None:
    """Ask anew whenever a control changes, and when ``shown_with`` comes into view."""
    events = [control.change for control in controls]
    if isinstance(shown_with, gr.Tab):
        events.append(shown_with.select)
    elif shown_with is not None:
        events.append(shown_with.load)
    gr.on(events, answered(ask), controls, result, trigger_mode="always_last", show_progress="minimal")
