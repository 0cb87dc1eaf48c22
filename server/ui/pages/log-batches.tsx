import { useEffect, useRef, useState } from 'preact/hooks'
import type { LogBatch } from '../../client/index.ts'
import { Failure, Notice } from '../components/notice.tsx'
import { Plot } from '../components/plot.tsx'
import { Table, type Column } from '../components/table.tsx'
import { Hash, SendStatus, Time } from '../components/values.tsx'
import { formatDuration } from '../format.ts'
import { publicClient } from '../session.ts'
import { texts } from '../texts.ts'

/** For the plots. The table shows fewer at first. */
const PAGE_BATCHES = 100
const FIRST_ROWS = 10
const REFRESH_MS = 3_000

/** The sealed batches, the growth of the log, and how long its batches waited for their anchor. */
export function LogBatches() {
  const t = texts.log
  const { batches, isMore, error, loadMore } = useBatches()
  const loadedCount = batches?.length ?? 0
  const [rowCount, setRowCount] = useState(FIRST_ROWS)
  const showMore = (): void => {
    setRowCount(rowCount + PAGE_BATCHES)
    if (isMore && rowCount + PAGE_BATCHES > loadedCount) loadMore()
  }
  return (
    <>
      {error !== undefined && <Failure error={error} />}
      {batches && batches.length > 0 && <Plots batches={batches} />}
      <section>
        <h2>{t.batches}</h2>
        {batches === undefined && error === undefined && <p role="status">{texts.loading}</p>}
        {batches?.length === 0 && <Notice tone="warn">{t.empty}</Notice>}
        {batches && batches.length > 0 && (
          <Table
            label={t.batches}
            columns={COLUMNS}
            items={batches.slice(0, rowCount)}
            keyOf={({ batchId }) => batchId}
          />
        )}
        {(isMore || rowCount < loadedCount) && <button onClick={showMore}>{texts.more}</button>}
      </section>
    </>
  )
}

const COLUMNS: readonly Column<LogBatch>[] = [
  { title: texts.log.sealedAt, cell: ({ createdAt }) => <Time at={createdAt} /> },
  { title: texts.log.batchEntries, cell: ({ txidCount }) => txidCount.toLocaleString() },
  { title: texts.log.logSize, cell: ({ treeSize }) => treeSize.toLocaleString() },
  { title: texts.log.root, cell: ({ merkleRoot }) => <Hash value={merkleRoot} isShort /> },
  { title: texts.log.state, cell: ({ sendStatus }) => <SendStatus status={sendStatus} /> },
  { title: texts.log.stamp, cell: ({ tsa }) => (tsa ? <Covered by={tsa.authority} at={tsa.genTime} /> : texts.none) },
  {
    title: texts.log.anchor,
    cell: ({ anchor }) =>
      anchor ? <Covered by={`${anchor.network} ${anchor.blockNumber}`} at={anchor.blockTime} /> : texts.none,
  },
]

function Covered({ by, at }: { readonly by: string; readonly at: string }) {
  return (
    <>
      <Time at={at} /> <span class="muted">{by}</span>
    </>
  )
}

/**
 * The batches that are loaded, newest first; `undefined` until the first response. Reads the newest page again and
 * again, so that states change.
 */
function useBatches() {
  const [batches, setBatches] = useState<readonly LogBatch[]>()
  const [isMore, setMore] = useState(false)
  const [error, setError] = useState<unknown>()
  const hasOlder = useRef(false)
  const add = (page: readonly LogBatch[]): void =>
    setBatches((known = []) => {
      const byId = new Map([...known, ...page].map((batch) => [batch.batchId, batch]))
      return [...byId.values()].toSorted((a, b) => b.treeSize - a.treeSize)
    })
  const read = async (last: string | undefined, signal?: AbortSignal): Promise<void> => {
    try {
      const request = { len: PAGE_BATCHES, ...(last !== undefined && { last }) }
      const page = await publicClient.listBatches(request, signal && { signal })
      add(page.batches)
      // Once older pages were read, only they know whether more follow.
      if (last !== undefined || !hasOlder.current) setMore(page.isMore)
      hasOlder.current ||= last !== undefined
      setError(undefined)
    } catch (failure) {
      if (signal?.aborted !== true) setError(failure)
    }
  }
  useEffect(() => {
    const abort = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const repeat = async (): Promise<void> => {
      await read(undefined, abort.signal)
      if (!abort.signal.aborted) timer = setTimeout(() => void repeat(), REFRESH_MS)
    }
    void repeat()
    return () => {
      abort.abort()
      clearTimeout(timer)
    }
  }, [])
  return { batches, isMore, error, loadMore: () => void read(batches?.at(-1)?.batchId) }
}

function Plots({ batches }: { readonly batches: readonly LogBatch[] }) {
  const t = texts.log
  const ascending = batches.toReversed()
  const sizes = ascending.flatMap(({ createdAt, treeSize, txidCount }, i) => {
    const at = Date.parse(createdAt)
    const after = { at, value: treeSize }
    // The line begins at the size before the oldest batch.
    return i === 0 ? [{ at, value: treeSize - txidCount }, after] : [after]
  })
  const lags = ascending.flatMap(({ createdAt, anchor }) => {
    const at = Date.parse(createdAt)
    return anchor === undefined ? [] : [{ at, value: Math.max(0, Date.parse(anchor.blockTime) - at) }]
  })
  const longestMs = Math.max(0, ...lags.map(({ value }) => value))
  return (
    <div class="plots">
      <section class="card">
        <Plot
          title={t.growth}
          summary={t.growthSummary(sizes[0]?.value ?? 0, sizes.at(-1)?.value ?? 0)}
          points={sizes}
          format={(value) => value.toLocaleString()}
          kind="steps"
        />
      </section>
      <section class="card">
        {lags.length === 0 ? (
          <p class="muted">{t.noAnchor}</p>
        ) : (
          <Plot
            title={t.lag}
            summary={t.lagSummary(formatDuration(longestMs), batches.length - lags.length)}
            points={lags}
            format={formatDuration}
            kind="dots"
          />
        )}
      </section>
    </div>
  )
}
