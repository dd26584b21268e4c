"""The scheduler's side of HAMi, small: webhook, filter, bind, handshake, for sim and for tests.

It shares no parser with the agent, so a mistake there can't hide here. What to do is decided by
pure functions (``webhook``, ``request``, ``usage``, ``fit``, ``bind``, ``lock``, ``handshake``);
``scheduler`` does it, over HTTP, on whatever API server it is given.
"""
