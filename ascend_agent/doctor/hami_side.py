"""HAMi's side of this node as the agent would understand it: its files, and what follows for NPUs.

The agent's own policy decides; the host's readiness for soft slices is the agent's to find out.
"""

from dataclasses import replace

from ascend_agent.dialects.hami.effective import effective
from ascend_agent.dialects.hami.in_force import DEVICE, NODE, InForce
from ascend_agent.dialects.hami.in_force import judge as judge_files
from ascend_agent.doctor.picture import Count, Picture, draw, survey_of
from ascend_agent.doctor.place import Place
from ascend_agent.doctor.survey import Survey
from ascend_agent.flows.hidden_npus import Hidden, hide
from ascend_agent.host.text_files import read_texts
from ascend_agent.model.hami import HamiFiles, HamiState
from ascend_agent.model.ids import NodeName
from ascend_agent.model.npu import Inventory
from ascend_agent.settings import DialectName
from ascend_agent.slicing import load_mode


async def read_files(place: Place) -> InForce | None:
    """Return HAMi's files as understood, None where another dialect is set."""
    settings = place.settings
    if settings.dialect is not DialectName.HAMI:
        return None
    paths = {DEVICE: settings.device_config, NODE: settings.node_config}
    names = {role: str(path) for role, path in paths.items()}
    found = await place.off_loop(lambda: read_texts(paths))
    return judge_files(
        InForce(names=names),
        HamiFiles(texts=found.texts, troubles=found.troubles),
        node=NodeName(settings.node_name or ""),
    )


def state_of(place: Place, in_force: InForce, inventory: Inventory | None) -> HamiState:
    """Return what holds on a node with these NPUs; soft mode as it is asked for."""
    return effective(
        in_force,
        node=NodeName(place.settings.node_name or ""),
        inventory=inventory,
        soft_host=None,
        rules=place.settings.hami_rules,
    )


async def draw_here(place: Place, survey: Survey) -> Picture:
    """Return the picture of this node, with the devices that its dialect offers."""
    picture, in_force = draw(survey, place.settings), await read_files(place)
    return picture if in_force is None else draw_hami(place, survey, in_force)


def draw_hami(place: Place, survey: Survey, in_force: InForce) -> Picture:
    """Return the picture of a node that is served so: hidden NPUs are not in it."""
    picture = draw(survey, place.settings)
    entry = in_force.node.value.entry
    hidden = Hidden(dies=entry.hidden_dies, cards=entry.hidden_cards) if entry else Hidden()
    inventory = hide(picture.inventory, survey_of(survey), hidden)
    state = state_of(place, in_force, inventory)
    listed = {npu.phy for npu in inventory.npus}
    npus = tuple(view for view in picture.view.npus if view.npu.phy in listed)
    view = replace(picture.view, npus=npus)
    counts = {}
    if state.chip is not None:
        ours = [v for v in npus if v.npu.identity.chip.chip_name == state.chip.chip_name]
        groups = load_mode("by-die").advertise(ours, word=state.chip.word, shares=state.shares)
        counts[state.chip.resource] = Count(
            total=sum(group.shares for group in groups),
            healthy=sum(group.fit_devices for group in groups),
        )
    return replace(picture, inventory=inventory, view=view, counts=counts)
