import type { ServerResponse } from 'node:http'

/** Periods into which the idle time is divided. A response ends at most one period too late. */
const PERIODS = 5

/**
 * Destroys a response if its client accepts no byte for `idleMs`, or up to a fifth longer. A single timeout of Node can
 * take twice as long: it begins again if the client accepted a part of the last write before it stopped reading.
 */
export function endIfIdle(res: ServerResponse, idleMs: number): void {
  const periodMs = idleMs / PERIODS
  const countIdlePeriods = idlePeriodCounter(periodMs)
  const { socket } = res
  const usualMs = socket?.timeout ?? 0
  // Node sets the time of a connection without requests, but not if the next request was sent before this response.
  res.once('close', () => {
    if (socket?.timeout === periodMs) socket.setTimeout(usualMs)
  })
  res.setTimeout(periodMs, () => {
    if (countIdlePeriods(performance.now(), res.socket?.bytesWritten ?? 0) >= PERIODS) res.destroy()
    else res.setTimeout(periodMs)
  })
}

/**
 * Counts the consecutive periods in which nothing was accepted. Call the returned function each time that Node reports
 * an idle period, with the bytes that were written to the connection until then.
 */
export function idlePeriodCounter(periodMs: number): (nowMs: number, bytesWritten: number) => number {
  let last: { readonly atMs: number; readonly bytes: number; readonly count: number } | undefined
  return (atMs, bytes) => {
    // Node does not report a period in which a part was accepted, so two reports around it are two periods apart.
    const isNext = last !== undefined && bytes === last.bytes && atMs - last.atMs < 1.9 * periodMs
    last = { atMs, bytes, count: isNext ? (last?.count ?? 0) + 1 : 1 }
    return last.count
  }
}
