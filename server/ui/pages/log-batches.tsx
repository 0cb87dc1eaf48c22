import { useState } from 'preact/hooks'
import type { LogBatch } from '../../client/index.ts'
import { Card, Notice, PageList, Skeleton } from '../components/notice.tsx'
import { BarPlot, StepPlot, timesOf } from '../components/plot.tsx'
import { Table, type Column } from '../components/table.tsx'
import { usePages, type Page, type PagesOptions } from '../components/use-pages.ts'
import { Hash, isOwn, SendStatus, Time } from '../components/values.tsx'
import { formatDuration, formatTime } from '../format.ts'
import { publicClient } from '../session.ts'
import * as texts from '../texts/index.ts'

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
      <Card title={t.batches} aside={t.batchesNote}>
        {hasOwn && <p class="small muted">{texts.ownTest.note}</p>}
        <PageList of={list} empty={<Notice tone="pending">{t.empty}</Notice>} onMore={hasMore ? showMore : undefined}>
          {(batches) => (
            <Table
              label={t.batches}
              columns={COLUMNS}
              items={batches.slice(0, rowCount)}
              keyOf={({ batchId }) => batchId}
              isCard={false}
            />
          )}
        </PageList>
      </Card>
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
  { title: texts.overview.sealed, cell: ({ createdAt }) => <Time at={createdAt} isAge /> },
  { title: texts.log.added, kind: 'number', cell: ({ txidCount }) => txidCount.toLocaleString() },
  { title: texts.log.size, kind: 'number', cell: ({ treeSize }) => treeSize.toLocaleString() },
  { title: texts.evidences.proof, cell: ({ sendStatus }) => <SendStatus status={sendStatus} /> },
  {
    title: texts.log.stamp,
    cell: ({ tsa }) => (tsa ? <Covered by={shortName(tsa.authority)} at={tsa.genTime} /> : texts.none),
  },
  {
    title: texts.log.anchor,
    cell: ({ anchor }) =>
      anchor ? <Covered by={`${shortName(anchor.network)} ${anchor.blockNumber}`} at={anchor.blockTime} /> : texts.none,
  },
  { title: texts.log.root, cell: ({ merkleRoot }) => <Hash value={merkleRoot} isShort /> },
]

/** By whom and when a batch was stamped or anchored. */
const Covered = ({ by, at }: { readonly by: string; readonly at: string }) => (
  <>
    {by}, <Time at={at} isAge />
  </>
)

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
  const growth = t.growthSummary(sizes[0]?.value ?? 0, sizes.at(-1)?.value ?? 0)
  const longest = Math.max(0, ...lags.map(({ value }) => value))
  const lag = t.lagSummary(formatDuration(longest), batches.length - lags.length)
  return (
    <div class="grid plots">
      <Card title={t.growth} aside={growth}>
        <StepPlot summary={`${t.growth}: ${growth}`} points={sizes} />
      </Card>
      <Card title={t.lag} aside={lags.length > 0 && lag}>
        {lags.length === 0 ? (
          <p class="muted">{t.noAnchor}</p>
        ) : (
          <BarPlot
            summary={`${t.lag}: ${lag}`}
            bars={lags.map(({ at, value }) => ({ title: `${formatTime(at)}: ${formatDuration(value)}`, value }))}
            end={longest || 1}
            y={[longest, 0].map(formatDuration)}
            x={timesOf(lags)}
          />
        )}
      </Card>
    </div>
  )
}
