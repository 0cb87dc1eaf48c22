import { useState } from 'preact/hooks'
import type { LogBatch } from '../../client/index.ts'
import { Notice, PageList, Skeleton } from '../components/notice.tsx'
import { Plot } from '../components/plot.tsx'
import { Table, type Column } from '../components/table.tsx'
import { usePages, type Page, type PagesOptions } from '../components/use-pages.ts'
import { Hash, isOwn, SendStatus, Time } from '../components/values.tsx'
import { formatDuration } from '../format.ts'
import { publicClient } from '../session.ts'
import { texts } from '../texts.ts'

/** For the plots. The table shows fewer at first. */
const PAGE_BATCHES = 100
const FIRST_ROWS = 10
/** The height of the plots, while they are loading. */
const PLOTS_PX = [240]

/** The sealed batches, the growth of the log, and how long its batches waited for their anchor. */
export function LogBatches() {
  const t = texts.log
  const list = usePages<LogBatch, Page<LogBatch>>(BATCHES, { of: [] })
  const [rowCount, setRowCount] = useState(FIRST_ROWS)
  const { items, page, readMore } = list
  const showMore = (): void => {
    setRowCount(rowCount + PAGE_BATCHES)
    if (rowCount + PAGE_BATCHES > items.length) readMore()
  }
  const hasOwn = items.some(({ tsa, anchor }) => [tsa?.authority, anchor?.network].some((name) => name && isOwn(name)))
  const hasMore = page?.isMore === true || rowCount < items.length
  return (
    <>
      {page === undefined && <Skeleton heightsPx={PLOTS_PX} />}
      {items.length > 0 && <Plots batches={items} />}
      <section>
        <h2>{t.batches}</h2>
        {hasOwn && <p class="small muted">{texts.ownTest.note}</p>}
        <PageList of={list} empty={<Notice tone="pending">{t.empty}</Notice>} onMore={hasMore ? showMore : undefined}>
          {(batches) => (
            <Table
              label={t.batches}
              columns={COLUMNS}
              items={batches.slice(0, rowCount)}
              keyOf={({ batchId }) => batchId}
            />
          )}
        </PageList>
      </section>
    </>
  )
}

/** The batches, newest first. All are read again, because new ones come first, and states change. */
const BATCHES: PagesOptions<LogBatch, Page<LogBatch>> = {
  pageItems: PAGE_BATCHES,
  async readPage({ last, len }, signal) {
    const request = { len, ...(last && { last: last.batchId }) }
    const { batches, isMore } = await publicClient.listBatches(request, { signal })
    return { items: batches, isMore }
  },
  mayChange: () => true,
}

const shortName = (name: string): string => (isOwn(name) ? texts.ownTest.short : name)

const COLUMNS: readonly Column<LogBatch>[] = [
  { title: texts.overview.sealed, cell: ({ createdAt }) => <Time at={createdAt} /> },
  { title: texts.log.size, cell: ({ txidCount }) => txidCount.toLocaleString() },
  { title: texts.log.logSize, cell: ({ treeSize }) => treeSize.toLocaleString() },
  { title: texts.log.root, cell: ({ merkleRoot }) => <Hash value={merkleRoot} isShort /> },
  { title: texts.fields.status, cell: ({ sendStatus }) => <SendStatus status={sendStatus} /> },
  {
    title: texts.log.stamp,
    cell: ({ tsa }) => (tsa ? <Covered by={shortName(tsa.authority)} at={tsa.genTime} /> : texts.none),
  },
  {
    title: texts.log.anchor,
    cell: ({ anchor }) =>
      anchor ? <Covered by={`${shortName(anchor.network)} ${anchor.blockNumber}`} at={anchor.blockTime} /> : texts.none,
  },
]

/** When and by whom a batch was stamped or anchored. */
function Covered({ by, at }: { readonly by: string; readonly at: string }) {
  return (
    <>
      <Time at={at} /> <span class="muted">{by}</span>
    </>
  )
}

/** How the log grew, and how long batches waited for their anchor. */
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
    <div class="grid plots">
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
