"""Commands for gdb that know the tasks of Myriad.

    (gdb) source scripts/gdb/myriad.py
    (gdb) myriad tasks           tasks that have not ended: number, state, what each waits for, where it was spawned
    (gdb) myriad workers         workers, with their threads
    (gdb) myriad bt TASK         the stack of a closure that is blocked, by its number in `myriad tasks` or its address
    (gdb) myriad bt              the thread's own stack again

For a program with full debug information (`debug = true` in its profile), also a release build, also a core dump. Nothing is
written to the program, and nothing is called in it.

How it works. Records of tasks lie in chunks of memory that are never freed (crates/core/src/record/memory.rs); a record that is in use
has a kind. A blocked closure's word `idx` is the address of its node, on its stack (record/position.rs), and the node has the saved stack
pointer (queue/parked.rs): of a fiber the place where the switch has pushed three registers (crates/base/src/stack/switch/x86_64.rs);
of a thread its `OsStack`, with the system's number of the thread. A fiber's stack is shown by an unwinder, which says that the frame
below the innermost one is the fiber's: so frame #0 stays the thread's own, and the fiber's begin with #1.
"""

import gdb
from gdb.unwinder import Unwinder

# Bits of a kind (record/header.rs), and of the word `idx` (record/position.rs).
CLOSURE, FUTURE = 1, 2
STARTED, UNDER, HIGH, AWAITS, REASONS = 1 << 63, 1, 48, 0x7FC0, 32
ADDRESS = (1 << HIGH) - (1 << 3)
WORD = (1 << 64) - 1
# (Of unions the first field that fits: `MaybeUninit`.)
STRUCTS = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)


def field(value, name, depth=8):
    """The first field of this name in a value, or in the structs that it consists of."""
    if value.type.strip_typedefs().code not in STRUCTS:
        return None
    fields = [f for f in value.type.fields() if not f.artificial and hasattr(f, "bitpos")]
    for f in fields:
        if f.name == name:
            return value[f]
    for f in fields if depth else []:
        found = field(value[f], name, depth - 1)
        if found is not None:
            return found
    return None


def pointer(value, depth=8):
    """The first pointer in a value."""
    if value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
        return value
    if value.type.strip_typedefs().code in STRUCTS and depth:
        for f in value.type.fields():
            if not f.artificial and hasattr(f, "bitpos"):
                found = pointer(value[f], depth - 1)
                if found is not None:
                    return found
    return None


def number(value, depth=8):
    """The integer in a value that consists of one, whatever is around it."""
    code = value.type.strip_typedefs().code
    if code in STRUCTS:
        for f in value.type.fields() if depth else []:
            found = number(value[f], depth - 1)
            if found is not None:
                return found
        return None
    return int(value)


def static(name):
    symbol = gdb.lookup_static_symbol(name) or gdb.lookup_global_symbol(name)
    if symbol is None:
        raise gdb.GdbError(f"there is no {name}: the program is without Myriad, or without full debug information (`debug = true`)")
    return symbol.value()


def at(address, type_name):
    return gdb.Value(address).cast(gdb.lookup_type(type_name).pointer()).dereference()


def text(data, length):
    return bytes(gdb.selected_inferior().read_memory(int(data), int(length))).decode(errors="replace")


def place(location):
    """FILE:LINE:COLUMN of a `&Location`."""
    location = pointer(location).dereference()
    name = field(location, "filename") if field(location, "filename") is not None else field(location, "file")
    data, length = field(name, "data_ptr"), field(name, "length")
    return f"{text(data, length)}:{int(field(location, 'line'))}:{int(field(location, 'col'))}"


class Task:
    def __init__(self, address):
        self.address = address
        self.header = at(address, "myriad_core::record::header::Header")
        self.kind = number(self.header["kind"])
        self.idx = number(self.header["idx"]) & WORD

    def home(self):
        """What stands in the place of the home's number; None of one that has not begun."""
        return (self.idx & ~STARTED) >> HIGH if self.idx & STARTED else None

    def is_set_aside(self):
        """At a node, or below another task."""
        return self.home() is not None and self.home() < AWAITS

    def node(self):
        """The node at which it waits."""
        blocked = self.is_set_aside() and not self.idx & UNDER
        return at(self.idx & ADDRESS, "myriad_core::queue::parked::Parked") if blocked else None

    def awaited(self):
        """What the last poll of a future was pending for, if that is known."""
        reason = (self.home() or 0) - AWAITS
        if not 0 <= reason < REASONS:
            return None
        return gdb.Value(reason).cast(gdb.lookup_type("myriad_core::queue::reason::WaitReason"))

    def state(self):
        if self.kind & FUTURE:
            awaited = self.awaited()
            return "a future" if awaited is None else f"a future, which has awaited: {str(awaited).split('::')[-1]}"
        node = self.node()
        if node is not None:
            return f"blocked: {str(node['reason']).split('::')[-1]}"
        if self.is_set_aside() and self.idx & UNDER:
            return f"below {self.idx & ADDRESS:#x}"
        return "runs, or has ended" if self.idx & STARTED else "queued, or has ended"

    def place(self):
        return place(self.header["location"])


def tasks():
    """Records in use."""
    chunks = field(static("myriad_core::record::memory::POOL"), "chunks")
    first, length = pointer(chunks), int(field(chunks, "len"))
    chunk = gdb.lookup_type("myriad_core::record::memory::Chunk")
    header = gdb.lookup_type("myriad_core::record::header::Header")
    kind_at = next(f.bitpos // 8 for f in header.fields() if f.name == "kind")
    first = first.cast(chunk.pointer())
    found = []
    for i in range(length):
        start, records, size = int(first[i]["start"]), int(first[i]["records"]), (int(first[i]["class"]) + 1) * 64
        memory = bytes(gdb.selected_inferior().read_memory(start, records * size))
        for j in range(records):
            if memory[j * size + kind_at] & (CLOSURE | FUTURE):
                found.append(Task(start + j * size))
    return found


class FiberUnwinder(Unwinder):
    """Says that the caller of the innermost frame is where a fiber goes on."""

    def __init__(self):
        super().__init__("myriad-fiber")
        self.saved = None
        self.innermost = None

    def __call__(self, pending):
        if self.saved is None:
            return None
        rsp, rip = pending.read_register("rsp"), pending.read_register("rip")
        if (int(rsp), int(rip)) != self.innermost:
            return None
        info = pending.create_unwind_info(FrameId(rsp, rip))
        word = lambda i: gdb.Value(self.saved + 8 * i).cast(gdb.lookup_type("u64").pointer()).dereference()
        code, data = rip.type, rsp.type
        info.add_saved_register("rip", word(0).cast(code))
        info.add_saved_register("rbx", word(1))
        info.add_saved_register("rbp", word(2).cast(data))
        info.add_saved_register("rsp", gdb.Value(self.saved + 24).cast(data))
        return info

    def forget(self):
        self.saved = None

    def show(self, saved):
        self.forget()
        gdb.invalidate_cached_frames()
        if saved is not None:
            frame = gdb.newest_frame()
            self.innermost = (int(frame.read_register("rsp")), int(frame.read_register("rip")))
            self.saved = saved
            gdb.invalidate_cached_frames()


class FrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


FIBER = FiberUnwinder()
gdb.unwinder.register_unwinder(None, FIBER, replace=True)
# Once the program goes on the fiber's stack is another one.
gdb.events.cont.connect(lambda _: FIBER.forget())


class Myriad(gdb.Command):
    """Tasks of Myriad: `myriad tasks`, `myriad workers`, `myriad bt TASK`."""

    def __init__(self):
        super().__init__("myriad", gdb.COMMAND_STACK, prefix=True)


class Tasks(gdb.Command):
    """Tasks that have not ended, and ended ones with a handle: state, what a blocked one waits for, where it was spawned."""

    def __init__(self):
        super().__init__("myriad tasks", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        for i, task in enumerate(tasks()):
            print(f"{i:6} {task.address:#x} {task.state():26} spawned at {task.place()}")


class Workers(gdb.Command):
    """Workers, with the thread that each has now, and the task that it runs."""

    def __init__(self):
        super().__init__("myriad workers", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        pools = static("myriad_core::sched::pool::registry::POOLS")
        records = {task.address for task in tasks()}
        low, high = pools.type.range()
        peer = gdb.lookup_type("myriad_core::sched::worker::Peer").pointer()
        for i in range(low, high + 1):
            pool = pointer(pools[i])
            if not int(pool):
                continue
            regular = field(pool.dereference(), "regular")
            data, length = field(regular, "data_ptr"), int(field(regular, "length"))
            for j in range(length):
                w = data.cast(peer.pointer())[j].dereference()
                thread, runs = number(w["thread"]), int(pointer(w["running"])) & WORD
                what = f"runs {runs:#x}" if runs in records else "runs no task of the list"
                print(f"pool {i}, worker {j}: thread {thread}, {what}")


class Backtrace(gdb.Command):
    """The stack of a blocked closure, by its number in `myriad tasks` or by its address; without one, the thread's own again."""

    def __init__(self):
        super().__init__("myriad bt", gdb.COMMAND_STACK)
        # The thread that was selected before that of a task.
        self.own = None

    def invoke(self, argument, from_tty):
        if not argument.strip():
            FIBER.show(None)
            if self.own is not None and self.own.is_valid():
                self.own.switch()
            self.own = None
            return gdb.execute("bt")
        which = int(gdb.parse_and_eval(argument))
        all_tasks = tasks()
        found = [task for task in all_tasks if task.address == which] or all_tasks[which : which + 1]
        if not found or found[0].node() is None:
            raise gdb.GdbError("this is no blocked closure: see `myriad tasks`")
        node = found[0].node()
        saved = int(pointer(node["saved"]))
        home = pointer(node["home"])
        shared = home.cast(gdb.lookup_type("myriad_core::sched::idle::WorkerShared").pointer()).dereference()
        if number(field(shared["ready"], "shared")):
            lwp = number(at(saved, "myriad_core::sched::stacks::OsStack")["tid"])
            found = [thread for thread in gdb.selected_inferior().threads() if thread.ptid[1] == lwp]
            if not found:
                raise gdb.GdbError(f"gdb knows no thread {lwp}, on which this task is blocked")
            FIBER.show(None)
            self.own = self.own or gdb.selected_thread()
            found[0].switch()
        else:
            FIBER.show(saved)
        gdb.execute("bt")


Myriad()
Tasks()
Workers()
Backtrace()
