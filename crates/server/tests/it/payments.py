"""A payment provider for tests: localstripe, with what it lacks of the API and with ways to make trouble.

usage: payments.py SECONDS   the time at which its clock stands; it prints the port that it listens on

Added to the API: checkout sessions, meter events, idempotency keys and the event for a changed subscription.
Under /_config/ the test plays the people and the network: it pays, lets payments fail, reads what was metered, and has answers
get lost or events sent again.
"""

import asyncio
import hashlib
import hmac
import json
import socket
import sys
import time
from collections import defaultdict

import aiohttp
from aiohttp import web
from localstripe import resources, webhooks
from localstripe.errors import UserError
from localstripe.resources import Customer, Event, PaymentMethod, StripeObject, Subscription
from localstripe.server import app, get_post_data, json_response

sent_events, answered, meters = [], {}, defaultdict(dict)
trouble = {"clock": int(sys.argv[1]), "deaf": 0, "lose_answers": 0, "lose_events": 0}
time.time = lambda: trouble["clock"]
door = socket.create_server(("127.0.0.1", 0))


class CheckoutSession(StripeObject):
    object = "checkout.session"
    _id_prefix = "cs_test_"

    def __init__(self, mode, customer, line_items, success_url, cancel_url, client_reference_id=None, subscription_data=None):
        if mode != "subscription" or len(line_items) != 1:
            raise UserError(400, "Bad request")
        Customer._api_retrieve(customer)
        resources.Plan._api_retrieve(line_items[0]["price"])
        super().__init__()
        self.mode, self.customer, self.client_reference_id = mode, customer, client_reference_id
        self.success_url, self.cancel_url = success_url, cancel_url
        self.status, self.subscription = "open", None
        self._items, self._data = line_items, subscription_data or {}
        self.url = f"http://127.0.0.1:{door.getsockname()[1]}/_config/pay/{self.id}"

    def _pay(self):
        if self.status != "open":
            raise UserError(400, "The session is not open.")
        card = {"number": "4242424242424242", "exp_month": 12, "exp_year": 2031, "cvc": "123"}
        method = PaymentMethod(type="card", card=card)
        PaymentMethod._api_attach(method.id, customer=self.customer)
        Customer._api_retrieve(self.customer).invoice_settings["default_payment_method"] = method.id
        item = {"plan": self._items[0]["price"], "quantity": self._items[0].get("quantity")}
        paid = Subscription(
            customer=self.customer,
            items=[item],
            metadata=self._data.get("metadata"),
            trial_period_days=self._data.get("trial_period_days"),
        )
        if paid.trial_period_days:
            paid.status = "trialing"
        self.status, self.subscription = "complete", paid.id
        resources.schedule_webhook(Event("checkout.session.completed", self))


async def deliver(body, header):
    for hook in webhooks._webhooks.values():
        signature = hmac.new(hook.secret.encode(), f"{header}.".encode() + body, hashlib.sha256).hexdigest()
        headers = {"Content-Type": "application/json", "Stripe-Signature": f"t={header},v1={signature}"}
        try:
            async with aiohttp.ClientSession() as session:
                async with session.post(hook.url, data=body, headers=headers) as answer:
                    await answer.read()
        except aiohttp.ClientError:
            pass


def send_event(event):
    body = json.dumps(event._export()).encode()
    sent_events.append(body)
    if trouble["lose_events"] > 0:
        trouble["lose_events"] -= 1
    else:
        asyncio.ensure_future(deliver(body, int(time.time())))


resources.schedule_webhook = send_event
# What it knows goes with the test.
resources.Store.dump_to_disk = lambda self: None

update = Subscription._update


def update_and_send(self, **data):
    update(self, **data)
    send_event(Event("customer.subscription.updated", self))


Subscription._update = update_and_send


@web.middleware
async def once(request, handler):
    """Answers a repeated request as the first time, and drops requests or answers on request."""
    key = request.headers.get("Idempotency-Key")
    if request.path.startswith("/v1/") and trouble["deaf"] > 0:
        trouble["deaf"] -= 1
        request.transport.close()
        return web.Response()
    if key in answered:
        return web.Response(body=answered[key], content_type="application/json")
    answer = await handler(request)
    if request.path.startswith("/v1/") and request.method != "GET":
        if key and answer.status == 200:
            answered[key] = answer.body
        if trouble["lose_answers"] > 0:
            trouble["lose_answers"] -= 1
            request.transport.close()
    return answer


app.middlewares.insert(0, once)


async def create_session(request):
    return json_response(CheckoutSession(**await get_post_data(request))._export())


async def session(request):
    return json_response(CheckoutSession._api_retrieve(request.match_info["id"])._export())


async def meter(request):
    data = await get_post_data(request)
    payload, identifier = data["payload"], data["identifier"]
    Customer._api_retrieve(payload["stripe_customer_id"])
    events = meters[f"{payload['stripe_customer_id']} {data['event_name']}"]
    if identifier in events:
        raise UserError(400, f"An event with the identifier {identifier} already exists.")
    events[identifier] = int(payload["value"])
    return json_response({"object": "billing.meter_event", "identifier": identifier})


async def subscription(request):
    return json_response(Subscription._api_retrieve(request.match_info["id"])._export())


async def pay(request):
    paid = CheckoutSession._api_retrieve(request.match_info["id"])
    if request.method == "GET":
        page = '<!doctype html><title>Pay</title><form method="post"><button>Pay</button></form>'
        return web.Response(text=page, content_type="text/html")
    paid._pay()
    raise web.HTTPSeeOther(paid.success_url.replace("{CHECKOUT_SESSION_ID}", paid.id))


async def change(request):
    """Sets anything about a subscription, as if it had happened at the provider."""
    found = Subscription._api_retrieve(request.match_info["id"])
    for key, value in (await request.json()).items():
        setattr(found, key, value)
    send_event(Event("customer.subscription.updated", found))
    return json_response(found._export())


async def expire(request):
    found = CheckoutSession._api_retrieve(request.match_info["id"])
    found.status = "expired"
    return json_response(found._export())


async def metered(request):
    totals = {key: {"events": len(events), "value": sum(events.values())} for key, events in meters.items()}
    return json_response(totals)


async def subscriptions(request):
    return json_response([found._export() for key, found in resources.store.items() if key.startswith("subscription:")])


async def make_trouble(request):
    trouble.update(await request.json())
    return json_response(trouble)


async def repeat(request):
    """Sends every event again, newest first, and responds when all events are delivered."""
    for body in reversed(sent_events):
        await deliver(body, int(time.time()))
    return json_response(len(sent_events))


routes = [
    ("POST", "/v1/checkout/sessions", create_session),
    ("GET", "/v1/checkout/sessions/{id}", session),
    ("POST", "/v1/billing/meter_events", meter),
    ("GET", "/_config/pay/{id}", pay),
    ("POST", "/_config/pay/{id}", pay),
    ("POST", "/_config/expire/{id}", expire),
    ("POST", "/_config/change/{id}", change),
    ("GET", "/_config/metered", metered),
    ("GET", "/_config/subscriptions", subscriptions),
    ("POST", "/_config/trouble", make_trouble),
    ("POST", "/_config/repeat", repeat),
]
for method, path, handler in routes:
    app.router.add_route(method, path, handler)


@web.middleware
async def plainly(request, handler):
    """Prices are always whole here; the request to have them so is not known to localstripe."""
    if request.method == "GET" and request.path.startswith("/v1/subscriptions/"):
        return await subscription(request)
    return await handler(request)


app.middlewares.append(plainly)

print(door.getsockname()[1], flush=True)
web.run_app(app, sock=door, access_log=None, print=None)
