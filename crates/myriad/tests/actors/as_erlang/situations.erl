%% The situations of outcomes.txt on Erlang, a line for each: its name and what has come out.
%% scripts/erlang.sh runs it and compares.
-module(situations).
-export([main/0, init/1, handle_call/3, handle_cast/2, handle_continue/2, terminate/2, child/2, ignores/0]).

main() ->
    logger:set_primary_config(level, none),
    process_flag(trap_exit, true),
    [io:format("~s: ~s~n", [Name, lists:join(" ", [word(Word) || Word <- Situation()])]) || {Name, Situation} <- all()],
    halt().

all() -> [
    {"order", fun order/0},
    {"send-to-dead", fun() -> [case dead() ! x of x -> sent end] end},
    {"send-to-nobody", fun() -> [outcome(fun() -> nobody_has_this_name ! x, sent end)] end},
    {"exit-normal", fun exit_normal/0},
    {"kill", fun kill/0},
    {"link-normal", fun link_normal/0},
    {"link-to-dead", fun link_to_dead/0},
    {"unlink", fun unlinks/0},
    {"twice", fun twice/0},
    {"monitor-dead", fun monitor_dead/0},
    {"demonitor", fun demonitors/0},
    {"name-freed", fun name_freed/0},
    {"name-taken", fun name_taken/0},
    {"monitor-by-name", fun monitor_by_name/0},
    {"error", fun an_error/0},
    {"selective", fun selective/0},
    {"alias", fun aliases/0},
    {"timer", fun timers/0},
    {"call-without-answer", fun call_without_answer/0},
    {"call-timeout", fun call_timeout/0},
    {"continue", fun continue/0},
    {"terminate", fun terminates/0},
    {"rest-for-one", fun() -> strategy(rest_for_one) end},
    {"one-for-all", fun() -> strategy(one_for_all) end},
    {"restart-types", fun restart_types/0},
    {"intensity", fun intensity/0},
    {"window", fun window/0},
    {"shutdown", fun shutdown/0},
    {"children", fun children/0},
    {"addresses", fun addresses/0}
].

word(Word) when is_list(Word) -> Word;
word(Word) -> io_lib:format("~w", [Word]).

%% The value of a function, or what it fails with.
outcome(Function) ->
    try Function() catch
        error:_ -> error;
        exit:{{Reason, _}, _} -> Reason;
        exit:{Reason, _} -> Reason
    end.

got() -> receive Message -> Message after 5000 -> timeout end.
got_now() -> receive Message -> Message after 0 -> none end.
down(Reference) -> receive {'DOWN', Reference, _, _, Reason} -> Reason after 5000 -> timeout end.
ended(Pid) -> down(monitor(process, Pid)).
%% How a partner has ended.
told(Pid) -> receive {'EXIT', Pid, Reason} -> Reason after 5000 -> timeout end.
told_now(Pid) -> receive {'EXIT', Pid, Reason} -> Reason after 0 -> none end.

until(Condition) -> Condition() orelse begin erlang:yield(), until(Condition) end.

forever() -> receive _ -> forever() end.
waits() -> receive {exit, Reason} -> exit(Reason) end.
dead() ->
    {Pid, Reference} = spawn_monitor(fun() -> ok end),
    normal = down(Reference),
    Pid.

order() ->
    Main = self(),
    Once = fun(_) ->
        {Pid, _} = spawn_monitor(fun() -> receive go -> Main ! 1, Main ! 2 end end),
        Pid ! go,
        [case got() of {'DOWN', _, _, _, _} -> down; Message -> Message end || _ <- [1, 2, 3]]
    end,
    [Outcome] = lists:usort(lists:map(Once, lists:seq(1, 200))),
    Outcome.

exit_normal() ->
    Other = spawn(fun forever/0),
    exit(Other, normal),
    Other ! looked,
    Own = spawn_link(fun() -> exit(self(), normal), forever() end),
    [is_process_alive(Other), told(Own)].

kill() ->
    Traps = spawn_link(fun() -> process_flag(trap_exit, true), forever() end),
    exit(Traps, kill),
    Killed = told(Traps),
    Own = spawn_link(fun() -> exit(kill) end),
    Kill = told(Own),
    {Partner, Reference} = spawn_monitor(fun() -> spawn_link(fun() -> exit(kill) end), forever() end),
    true = is_pid(Partner),
    [Killed, Kill, down(Reference)].

link_normal() ->
    Main = self(),
    {Plain, Reference} = spawn_monitor(fun() ->
        Partner = spawn_link(fun waits/0),
        Partner ! {exit, normal},
        Main ! {partner, ended(Partner)},
        waits()
    end),
    {partner, normal} = got(),
    Plain ! {exit, alive},
    Own = spawn_link(fun() -> ok end),
    [down(Reference), told(Own)].

link_to_dead() ->
    Dead = dead(),
    link(Dead),
    Main = self(),
    spawn(fun() -> Main ! outcome(fun() -> link(Dead), linked end) end),
    [told(Dead), got()].

unlinks() ->
    Before = spawn_link(fun waits/0),
    unlink(Before),
    Before ! {exit, crash},
    ended(Before),
    After = spawn_link(fun waits/0),
    After ! {exit, crash},
    ended(After),
    unlink(After),
    [told_now(Before), told_now(After)].

twice() ->
    Pid = spawn_link(fun waits/0),
    link(Pid),
    unlink(Pid),
    References = [monitor(process, Pid), monitor(process, Pid)],
    Pid ! {exit, crash},
    Downs = [down(Reference) || Reference <- References],
    [told_now(Pid) | Downs].

monitor_dead() ->
    Reference = monitor(process, dead()),
    All = [monitor(process, spawn(fun() -> ok end)) || _ <- lists:seq(1, 1000)],
    Downs = [down(One) || One <- All],
    [got_now_down(Reference), length([well || Reason <- Downs, Reason =:= normal orelse Reason =:= noproc]), got_now()].

got_now_down(Reference) -> receive {'DOWN', Reference, _, _, Reason} -> Reason after 0 -> none end.

demonitors() ->
    Pid = spawn(fun waits/0),
    [First, Second, Seen] = [monitor(process, Pid) || _ <- [1, 2, 3]],
    Pid ! {exit, crash},
    down(Seen),
    until(fun() -> {message_queue_len, 2} =:= process_info(self(), message_queue_len) end),
    InTime = demonitor(First, [info]),
    Stays = got_now_down(First),
    Flushed = demonitor(Second, [flush, info]),
    [InTime, Stays, Flushed, got_now_down(Second)].

name_freed() ->
    Once = fun(_) ->
        {Pid, Reference} = spawn_monitor(fun waits/0),
        register(freed, Pid),
        freed ! {exit, normal},
        down(Reference),
        whereis(freed)
    end,
    [undefined] = lists:usort(lists:map(Once, lists:seq(1, 200))),
    [none].

name_taken() ->
    [A, B] = [spawn(fun waits/0), spawn(fun waits/0)],
    Register = fun(Name, Pid) -> outcome(fun() -> register(Name, Pid), ok end) end,
    First = [Register(taken, A), Register(taken, B), Register(other, A)],
    taken ! {exit, crash},
    ended(A),
    First ++ [Register(taken, B), is_process_alive(B)].

monitor_by_name() ->
    register(watched, spawn(fun waits/0)),
    monitor(process, watched),
    watched ! {exit, crash},
    receive {'DOWN', _, _, Object, Reason} -> [Object =:= {watched, node()}, Reason] end.

an_error() ->
    {_, Reference} = spawn_monitor(fun() -> error(no_paper) end),
    {Reason, Trace} = down(Reference),
    [Reason, is_list(Trace)].

selective() ->
    [self() ! Message || Message <- [{a, 0}, {b, 1}, {a, 2}, {b, 3}, {a, 4}]],
    Nine = receive {a, 9} -> 9 after 0 -> none end,
    One = receive {b, X} -> X; {a, X = 4} -> X after 0 -> none end,
    Three = receive {b, Y} when Y > 1 -> Y; {a, Y = 5} -> Y after 0 -> none end,
    Four = receive {a, Z} when Z > 3 -> Z after 0 -> none end,
    [Nine, One, Three, Four | [N || {a, N} <- [got(), got()]]].

aliases() ->
    Inactive = alias(),
    Inactive ! sent_before,
    unalias(Inactive),
    Inactive ! sent_after,
    Once = alias([reply]),
    Once ! first,
    Messages = [got_now() | [begin Once ! second, got_now() end]],
    Messages ++ [got_now()].

timers() ->
    Soon = erlang:send_after(1, self(), came),
    Came = got(),
    Again = erlang:send_after(1, self(), stays),
    timer:sleep(20),
    Fired = [gone(erlang:cancel_timer(Soon)), gone(erlang:cancel_timer(Again)), got_now()],
    Pid = spawn(fun waits/0),
    Late = erlang:send_after(1000000, Pid, late),
    Pid ! {exit, crash},
    ended(Pid),
    [Came | Fired] ++ [gone(erlang:cancel_timer(Late))].

gone(false) -> none;
gone(_) -> left.

%% A server that does what it is told.

server(Tells) ->
    {ok, Server} = gen_server:start(?MODULE, {server, Tells}, []),
    Server.

init({server, Tells}) -> {ok, Tells};
init({supervisor, Limits, Children}) -> {ok, {Limits, Children}}.

handle_call(crash, _, _) -> exit(crash);
handle_call(stop, _, Tells) -> {stop, normal, Tells};
handle_call(itself, _, Tells) -> {reply, outcome(fun() -> gen_server:call(self(), x) end), Tells};
handle_call(slow, _, Tells) ->
    receive go -> ok end,
    {reply, late, Tells};
handle_call(alive, _, Tells) -> {reply, true, Tells}.

handle_cast({then, Value}, Tells) ->
    [gen_server:cast(self(), {say, Say}) || Say <- [a, b]],
    {noreply, Tells, {continue, Value}};
handle_cast({say, Value}, Tells) ->
    Tells ! Value,
    {noreply, Tells};
handle_cast({stop, Reason}, Tells) -> {stop, Reason, Tells}.

handle_continue(Value, Tells) ->
    Tells ! Value,
    {noreply, Tells}.

terminate(Reason, Tells) when is_pid(Tells) -> Tells ! {terminate, Reason};
terminate(_, _) -> ok.

call_without_answer() ->
    Call = fun(Server, Message) -> outcome(fun() -> gen_server:call(Server, Message) end) end,
    [Call(dead(), x), Call(server(none), crash), Call(server(none), stop), Call(server(none), itself)].

call_timeout() ->
    Server = server(none),
    Timeout = outcome(fun() -> gen_server:call(Server, slow, 10) end),
    Server ! go,
    [Timeout, gen_server:call(Server, alive), got_now()].

continue() ->
    gen_server:cast(server(self()), {then, c}),
    [got(), got(), got()].

terminates() ->
    Ends = [
        fun(Server) -> gen_server:cast(Server, {stop, enough}) end,
        fun(Server) -> exit(Server, shutdown) end,
        fun(Server) -> exit(Server, kill) end
    ],
    Once = fun(End) ->
        Server = server(self()),
        End(Server),
        ended(Server),
        case got_now() of {terminate, Reason} -> Reason; none -> none end
    end,
    lists:map(Once, Ends).

%% Supervisors, of children that tell their starts and their ends.

child(Id, Main) ->
    Main ! {log, "+" ++ Id},
    {ok, spawn_link(fun() -> process_flag(trap_exit, true), alive(Id, Main) end)}.

alive(Id, Main) ->
    receive
        {exit, Reason} -> gone(Id, Main, Reason);
        {'EXIT', _, Reason} -> gone(Id, Main, Reason)
    end.

gone(Id, Main, Reason) ->
    Main ! {log, "-" ++ Id},
    exit(Reason).

ignores() -> {ok, spawn_link(fun() -> process_flag(trap_exit, true), forever() end)}.

specification(Id) -> #{id => Id, start => {?MODULE, child, [Id, self()]}}.

supervisor(Limits, Children) ->
    {ok, Supervisor} = supervisor:start_link(?MODULE, {supervisor, Limits, Children}),
    logged(),
    Supervisor.

logged() -> receive {log, What} -> [What | logged()] after 0 -> [] end.

pid(Supervisor, Id) -> proplists:get_value(Id, [{Child, Pid} || {Child, Pid, _, _} <- supervisor:which_children(Supervisor)]).

%% Ends a child, and waits until the supervisor has done what it does then.
crash(Supervisor, Id, Reason) ->
    Pid = pid(Supervisor, Id),
    Pid ! {exit, Reason},
    ended(Pid),
    catch supervisor:which_children(Supervisor),
    Pid.

stop(Supervisor) ->
    exit(Supervisor, shutdown),
    Reason = told(Supervisor),
    {Reason, logged()}.

strategy(Strategy) ->
    Supervisor = supervisor(#{strategy => Strategy}, [specification(Id) || Id <- ["a", "b", "c"]]),
    crash(Supervisor, "b", crash),
    Log = logged(),
    {shutdown, Stops} = stop(Supervisor),
    Log ++ Stops.

restart_types() ->
    Types = [{"p", permanent}, {"t", transient}, {"x", temporary}],
    Supervisor = supervisor(#{intensity => 9}, [(specification(Id))#{restart => Type} || {Id, Type} <- Types]),
    [crash(Supervisor, Id, normal) || {Id, _} <- Types],
    Left = [Id ++ case is_pid(Pid) of true -> ":runs"; false -> ":ended" end ||
        {Id, Pid, _, _} <- lists:sort(supervisor:which_children(Supervisor))],
    stop(Supervisor),
    Left.

intensity() ->
    Supervisor = supervisor(#{intensity => 2, period => 1000}, [specification(Id) || Id <- ["a", "b", "c"]]),
    [crash(Supervisor, Id, crash) || Id <- ["b", "a"]],
    logged(),
    crash(Supervisor, "b", crash),
    Reason = told(Supervisor),
    logged() ++ [Reason].

window() ->
    Supervisor = supervisor(#{intensity => 2, period => 1}, [specification("a")]),
    Times = [begin timer:sleep(600), crash(Supervisor, "a", crash) end || _ <- lists:seq(1, 8), is_process_alive(Supervisor)],
    true = is_list(Times),
    case is_process_alive(Supervisor) of
        true -> stop(Supervisor), [lives];
        false -> logged(), [told(Supervisor)]
    end.

shutdown() ->
    Ignores = #{id => ignores, start => {?MODULE, ignores, []}, shutdown => 20},
    Supervisor = supervisor(#{}, [specification("a"), Ignores, specification("c")]),
    Reference = monitor(process, pid(Supervisor, ignores)),
    {Reason, Log} = stop(Supervisor),
    Log ++ [down(Reference), Reason].

children() ->
    Supervisor = supervisor(#{}, [specification("a")]),
    Pid = pid(Supervisor, "a"),
    Done = fun({error, _}) -> error; (_) -> ok end,
    Duplicate = supervisor:start_child(Supervisor, specification("a")),
    Running = Done(supervisor:delete_child(Supervisor, "a")),
    Stopped = Done(supervisor:terminate_child(Supervisor, "a")),
    Again = Done(supervisor:restart_child(Supervisor, "a")),
    supervisor:terminate_child(Supervisor, "a"),
    Outcome = [
        Duplicate =:= {error, {already_started, Pid}}, Running, Stopped, Again,
        Done(supervisor:delete_child(Supervisor, "a")), Done(supervisor:restart_child(Supervisor, "a"))
    ],
    stop(Supervisor),
    Outcome.

addresses() ->
    Supervisor = supervisor(#{}, [specification("a")]),
    Old = crash(Supervisor, "a", crash),
    Outcome = [is_process_alive(Old), is_process_alive(pid(Supervisor, "a"))],
    stop(Supervisor),
    Outcome.
