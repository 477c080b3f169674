"""A list, page by page."""

from collections.abc import AsyncIterator, Mapping

from scheduler.client.transport import Transport
from scheduler.client.watch_decoding import Page, decode_page


async def pages(
    transport: Transport, path: str, page_size: int, parameters: Mapping[str, str] | None = None
) -> AsyncIterator[Page]:
    """The pages of a list, read from the API server as they are asked for.

    Raises RequestError as `Transport.get`; Gone where the server has forgotten the list before its last page.
    """
    asked = {**(parameters or {}), "limit": str(page_size)}
    while True:
        page = decode_page((await transport.get(path, asked)).body)
        yield page
        if not page.metadata.continue_:
            return
        asked["continue"] = page.metadata.continue_
