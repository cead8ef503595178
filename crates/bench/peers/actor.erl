%% `actor` by Erlang: src/actor/erlang.rs builds it.
%%
%% Its arguments are the form, n and m. Each line on its input asks for a run, which is answered by a
%% line: nanoseconds, nanoseconds of processor time (the emulator counts milliseconds), and the
%% answer. The end of the input is the end of the program.
%%
%% An actor is a process with a receive, and in the forms `...-server` and `call...` a gen_server.
-module(actor).
-export([main/1, init/1, handle_cast/2, handle_call/3, child/1]).

-record(node, {kind, next, sum = 0, main, tells}).

main([Form, N, M]) ->
    %% A supervisor reports each of its children that ends.
    logger:set_primary_config(level, none),
    answer(Form, list_to_integer(N), list_to_integer(M)),
    halt().

answer(Form, N, M) ->
    case io:get_line("") of
        eof -> ok;
        _ ->
            {Time, Used, Answer} = run(Form, N, M),
            io:format("~b ~b ~b~n", [Time, Used, Answer]),
            answer(Form, N, M)
    end.

timed(Run) ->
    {Used, _} = statistics(runtime),
    Begin = erlang:monotonic_time(nanosecond),
    Answer = Run(),
    Time = erlang:monotonic_time(nanosecond) - Begin,
    {Now, _} = statistics(runtime),
    {Time, 1000000 * (Now - Used), Answer}.

%% The forms.

run("relay", N, M) -> relay(process, N, M);
run("relay-server", N, M) -> relay(server, N, M);
run("ring", N, M) -> ring(process, N * M);
run("ring-server", N, M) -> ring(server, N * M);
run("spawn", N, M) -> timed(fun() -> spawn_all(process, N * M) end);
run("spawn-server", N, M) -> timed(fun() -> spawn_all(server, N * M) end);
run("idle", N, M) -> idle(process, max(1, N * M div 20));
run("idle-server", N, M) -> idle(server, max(1, N * M div 20));
run("skynet", N, M) -> timed(fun() -> skynet(leaves(1, N * M)) end);
run("restart", N, M) -> restart(max(1, N * M div 100));
run("kill", N, M) -> kill(max(1, N * M div 20));
run("call" ++ _, N, M) -> call(N * M).

relay(Kind, N, M) ->
    {Time, Used, {Sum, All}} = timed(fun() ->
        All = [Head | _] = chain(Kind, M),
        [cast(Kind, Head, {hand_on, I}) || I <- lists:seq(0, N - 1)],
        {told(N, 0), All}
    end),
    stop_all(Kind, All),
    {Time, Used, Sum}.

ring(Kind, Hops) ->
    All = [Head | _] = chain(Kind, Hops),
    %% All of them wait when the last one has answered.
    0 = ask(Kind, lists:last(All)),
    {Time, Used, Sum} = timed(fun() ->
        cast(Kind, Head, {hand_on, 0}),
        told(1, 0)
    end),
    stop_all(Kind, All),
    {Time, Used, Sum}.

call(Calls) ->
    Server = start(server, #node{main = self(), tells = ends}),
    cast(server, Server, {add, 7}),
    {Time, Used, Sum} = timed(fun() -> calls(Server, Calls, 0) end),
    stop_all(server, [Server]),
    told(1, 0),
    {Time, Used, Sum}.

calls(_, 0, Sum) -> Sum;
calls(Server, Calls, Sum) -> calls(Server, Calls - 1, Sum + gen_server:call(Server, sum, infinity)).

%% 256 live at a time.
spawn_all(_, 0) -> 0;
spawn_all(Kind, Actors) ->
    Batch = min(256, Actors),
    stop_all(Kind, [start(Kind, #node{main = self(), tells = ends}) || _ <- lists:seq(1, Batch)]),
    told(Batch, 0) + spawn_all(Kind, Actors - Batch).

%% They stay until the program ends, for their memory is counted.
idle(Kind, Actors) ->
    {Time, Used, All} = timed(fun() -> [start(Kind, #node{main = self()}) || _ <- lists:seq(1, Actors)] end),
    {Time, Used, add_all(Kind, lists:enumerate(0, All), 0)}.

%% What handles the messages of all at once is no memory of an idle one.
add_all(_, [], Sum) -> Sum;
add_all(Kind, All, Sum) ->
    {Some, Others} = lists:split(min(1000, length(All)), All),
    [cast(Kind, Actor, {add, I}) || {I, Actor} <- Some],
    add_all(Kind, Others, told(length(Some), Sum)).

leaves(Leaves, Most) when 10 * Leaves > Most -> Leaves;
leaves(Leaves, Most) -> leaves(10 * Leaves, Most).

skynet(Leaves) ->
    Main = self(),
    spawn(fun() -> skynet(Main, 0, Leaves) end),
    told(1, 0).

skynet(Parent, Number, 1) -> Parent ! {told, Number};
skynet(Parent, Number, Leaves) ->
    Self = self(),
    Part = Leaves div 10,
    [spawn(fun() -> skynet(Self, Number + I * Part, Part) end) || I <- lists:seq(0, 9)],
    Parent ! {told, told(10, 0)}.

restart(Children) ->
    process_flag(trap_exit, true),
    {ok, Supervisor} = supervisor:start_link(?MODULE, {supervisor, Children}),
    All = [element(2, supervisor:start_child(Supervisor, [self()])) || _ <- lists:seq(1, Children)],
    Children = told(Children, 0),
    {Time, Used, Starts} = timed(fun() ->
        [Child ! {exit, shutdown} || Child <- All],
        told(Children, Children)
    end),
    exit(Supervisor, shutdown),
    receive {'EXIT', Supervisor, shutdown} -> {Time, Used, Starts} end.

child(Main) ->
    Child = spawn_link(fun() -> receive {exit, Reason} -> exit(Reason) end end),
    Main ! {told, 1},
    {ok, Child}.

kill(Actors) ->
    All = [start(process, #node{main = self()}) || _ <- lists:seq(1, Actors)],
    [0 = ask(process, Actor) || Actor <- All],
    [monitor(process, Actor) || Actor <- All],
    timed(fun() ->
        [exit(Actor, kill) || Actor <- All],
        killed(Actors, 0)
    end).

killed(0, Killed) -> Killed;
killed(Left, Killed) -> receive {'DOWN', _, process, _, killed} -> killed(Left - 1, Killed + 1) end.

%% What the actors tell: so often, and the sum.
told(0, Sum) -> Sum;
told(Left, Sum) -> receive {told, Value} -> told(Left - 1, Sum + Value) end.

%% An actor.

start(process, Node) -> spawn(fun() -> loop(Node#node{kind = process}) end);
start(server, Node) ->
    {ok, Server} = gen_server:start(?MODULE, Node#node{kind = server}, []),
    Server.

%% The head comes first.
chain(Kind, Length) ->
    lists:foldl(fun(_, All) -> [start(Kind, #node{main = self(), next = next(All)}) | All] end, [], lists:seq(1, Length)).

next([]) -> none;
next([Next | _]) -> Next.

stop_all(Kind, All) -> [cast(Kind, Actor, stop) || Actor <- All].

cast(process, Actor, Message) -> Actor ! Message;
cast(server, Actor, Message) -> gen_server:cast(Actor, Message).

ask(server, Actor) -> gen_server:call(Actor, sum, infinity);
ask(process, Actor) ->
    Reference = make_ref(),
    Actor ! {sum, self(), Reference},
    receive {Reference, Sum} -> Sum end.

loop(Node) ->
    receive
        stop -> ended(Node);
        {sum, From, Reference} ->
            From ! {Reference, Node#node.sum},
            loop(Node);
        Message -> loop(handle(Message, Node))
    end.

handle({hand_on, Value}, Node = #node{next = none}) -> handle({add, Value}, Node);
handle({hand_on, Value}, Node = #node{kind = Kind, next = Next}) ->
    cast(Kind, Next, {hand_on, Value + 1}),
    Node;
handle({add, Value}, Node = #node{tells = ends, sum = Sum}) -> Node#node{sum = Sum + Value};
handle({add, Value}, Node = #node{main = Main, sum = Sum}) ->
    Main ! {told, Value},
    Node#node{sum = Sum + Value}.

ended(#node{tells = ends, main = Main}) -> Main ! {told, 1};
ended(_) -> ok.

init(Node = #node{}) -> {ok, Node};
init({supervisor, Children}) ->
    Limits = #{strategy => simple_one_for_one, intensity => Children, period => 1000},
    {ok, {Limits, [#{id => child, start => {?MODULE, child, []}}]}}.

handle_cast(stop, Node) ->
    ended(Node),
    {stop, normal, Node};
handle_cast(Message, Node) -> {noreply, handle(Message, Node)}.

handle_call(sum, _, Node) -> {reply, Node#node.sum, Node}.
