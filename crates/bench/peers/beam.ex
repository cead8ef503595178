# `actor` and `agent` by Elixir: src/actor/elixir.rs and src/agent/elixir.rs build it.
#
# Its arguments are the workload, the form, n and m. Each line on its input asks for a run, which is
# answered by a line: nanoseconds, nanoseconds of processor time (the emulator counts milliseconds),
# and the answer. The end of the input is the end of the program.
defmodule Worker do
  use GenServer

  def init(node), do: {:ok, node}

  def handle_cast({:hand_on, value}, %{next: nil} = node), do: handle_cast({:add, value}, node)

  def handle_cast({:hand_on, value}, node) do
    GenServer.cast(node.next, {:hand_on, value + 1})
    {:noreply, node}
  end

  def handle_cast({:add, value}, node) do
    send(node.main, {:told, value})
    {:noreply, %{node | sum: node.sum + value}}
  end

  def handle_cast(:stop, node), do: {:stop, :normal, node}

  def handle_call(:sum, _from, node), do: {:reply, node.sum, node}
end

defmodule Beam do
  def main([workload, form, n, m]) do
    answer({workload, form}, String.to_integer(n), String.to_integer(m))
  end

  defp answer(form, n, m) do
    if IO.gets("") != :eof do
      {time, used, answer} = run(form, n, m)
      IO.puts("#{time} #{used} #{answer}")
      answer(form, n, m)
    end
  end

  defp timed(run) do
    {used, _} = :erlang.statistics(:runtime)
    begin = System.monotonic_time(:nanosecond)
    answer = run.()
    time = System.monotonic_time(:nanosecond) - begin
    {now, _} = :erlang.statistics(:runtime)
    {time, 1_000_000 * (now - used), answer}
  end

  defp run({"actor", "relay" <> _}, n, m) do
    {time, used, {sum, all}} =
      timed(fn ->
        all = chain(m, &worker/1)
        for i <- 0..(n - 1), do: GenServer.cast(hd(all), {:hand_on, i})
        {told(n, 0), all}
      end)

    for actor <- all, do: GenServer.cast(actor, :stop)
    {time, used, sum}
  end

  defp run({"actor", "call" <> _}, n, m) do
    server = worker(nil)
    GenServer.cast(server, {:add, 7})
    told(1, 0)
    measured = timed(fn -> calls(server, n * m, 0) end)
    GenServer.cast(server, :stop)
    measured
  end

  defp run({"agent", "relay"}, n, m) do
    main = self()

    {time, used, {sum, all}} =
      timed(fn ->
        all = chain(m, &agent(%{next: &1, sum: 0, left: n, main: main}))
        for i <- 0..(n - 1), do: hand_on(hd(all), i)
        {told(1, 0), all}
      end)

    for agent <- all, do: Agent.stop(agent)
    {time, used, sum}
  end

  defp run({"agent", "shared"}, n, m) do
    timed(fn ->
      agent = agent(0)
      send_all = fn -> for i <- 0..(m - 1), do: Agent.cast(agent, &(&1 + i)) end
      1..n |> Enum.map(fn _ -> Task.async(send_all) end) |> Enum.each(&Task.await(&1, :infinity))
      sum = Agent.get(agent, & &1, :infinity)
      Agent.stop(agent)
      sum
    end)
  end

  # The head comes first.
  defp chain(length, start) do
    Enum.reduce(1..length, [], fn _, all -> [start.(List.first(all)) | all] end)
  end

  defp worker(next) do
    {:ok, worker} = GenServer.start(Worker, %{next: next, sum: 0, main: self()})
    worker
  end

  defp agent(value) do
    {:ok, agent} = Agent.start(fn -> value end)
    agent
  end

  # Sent on inside the action.
  defp hand_on(agent, value) do
    Agent.cast(agent, fn
      %{next: nil} = node -> count(%{node | sum: node.sum + value, left: node.left - 1})
      node -> hand_on(node.next, value + 1) && node
    end)
  end

  defp count(%{left: left} = node) do
    if left == 0, do: send(node.main, {:told, node.sum})
    node
  end

  defp calls(_, 0, sum), do: sum
  defp calls(server, left, sum), do: calls(server, left - 1, sum + GenServer.call(server, :sum, :infinity))

  # What the actors tell: so often, and the sum.
  defp told(0, sum), do: sum

  defp told(left, sum) do
    receive do
      {:told, value} -> told(left - 1, sum + value)
    end
  end
end
