import { useState } from 'preact/hooks'
import type { EvidenceListItem, Overview } from '../../client/index.ts'
import { Icon, type IconName } from '../components/icon.tsx'
import { NewEvidenceLink } from '../components/navigation.tsx'
import { Card, Empty, WhenLoaded } from '../components/notice.tsx'
import { Pipeline } from '../components/pipeline.tsx'
import { BarPlot } from '../components/plot.tsx'
import { Thumb } from '../components/thumb.tsx'
import { useEvery, useLoad } from '../components/use-load.ts'
import { SendStatus, StateBadge, Time } from '../components/values.tsx'
import { insteadOf } from '../failure.ts'
import { formatDay, formatUtcDate } from '../format.ts'
import { hrefOf } from '../router.ts'
import { useSession, type Session } from '../session.ts'
import * as texts from '../texts/index.ts'
import { FirstRun, isFirstRun } from './first-run.tsx'
import { Health } from './health.tsx'
import { stateOfLog, useNewest } from './use-newest.ts'

const REFRESH_MS = 10_000

/** The heights of its parts, while they are loading. */
const PARTS_PX = [118, 172, 255]

/** Of a company that its first source system creates. */
const NOTHING: Overview = {
  counts: { evidences: 0, stolen: 0, categories: 0, files: 0 },
  createdPerDay: [],
  eventsToday: { count: 0, isMore: false },
  log: {
    recorded: { size: 0 },
    sealed: { size: 0 },
    stamped: { size: 0, waiting: 0 },
    anchored: { size: 0, waiting: 0 },
  },
  health: 'ok',
  dts: [],
}

/** What the company has at a glance, or the first steps while it has nothing. */
export function OverviewPage({ onSession }: { readonly onSession: (session: Session) => void }) {
  const { client, companyId } = useSession()
  const [isHidden, setHidden] = useState(false)
  const overview = useLoad(
    async (signal) => {
      const value = await client.getOverview({}, { signal }).catch(insteadOf('COMPANY_NOT_FOUND', NOTHING))
      return { ...value, readAt: Date.now() }
    },
    // Not the client: signing in again must not end a form of the first steps.
    [companyId],
  )
  const { loaded } = overview
  const isFirst = !isHidden && loaded.state === 'done' && isFirstRun(companyId, loaded.value.counts.evidences)
  // An evidence of somebody else, or a failure, would end a form of the first steps.
  useEvery(REFRESH_MS, overview.refresh, !isFirst)
  return (
    <WhenLoaded of={overview} title={texts.overview.title} heightsPx={PARTS_PX}>
      {(value) =>
        isFirst ? (
          <FirstRun onHide={() => setHidden(true)} onSession={onSession} onChange={overview.reload} />
        ) : (
          <Glance overview={value} />
        )
      }
    </WhenLoaded>
  )
}

function Glance({ overview }: { readonly overview: Overview & { readonly readAt: number } }) {
  const t = texts.overview
  const { log, createdPerDay, dts, readAt } = overview
  const session = useSession()
  return (
    <>
      <div class="head">
        <div>
          <h1>{t.title}</h1>
          <p class="small muted">
            {session.companyId} · {t.asOf} <Time at={readAt} />
          </p>
        </div>
        <NewEvidenceLink session={session} />
      </div>
      <Tiles overview={overview} />
      <Card title={t.pipeline} aside={t.wholeLog}>
        <Pipeline log={log} />
      </Card>
      <div class="split">
        <div>
          <CreatedPerDay days={createdPerDay} />
          <Card title={t.lastChanged} aside={<a href={hrefOf(['evidences'], { sort: 'updated' })}>{t.all}</a>}>
            {dts.length === 0 && <Empty icon="evidences">{texts.evidences.none}</Empty>}
            <ul class="lines">
              {dts.map((item) => (
                <ChangedEvidence key={item.id} item={item} logState={stateOfLog(overview)} />
              ))}
            </ul>
          </Card>
        </div>
        <div>
          <Health overview={overview} readAt={readAt} />
        </div>
      </div>
    </>
  )
}

/** The counts, each with what it leads to. */
function Tiles({ overview: { counts, createdPerDay, eventsToday, log } }: { readonly overview: Overview }) {
  const t = texts.overview
  const { client } = useSession()
  const { loaded } = useLoad((signal) => client.listCategories({}, { signal }), [client])
  const categories = loaded.state === 'done' ? loaded.value.categories : undefined
  const week = createdPerDay.slice(-7).reduce((sum, { count }) => sum + count, 0)
  // A registry may have no chain: then nothing waits for it.
  const forBlock = log.anchored.size > 0 ? log.anchored.waiting : 0
  return (
    <div class="grid tiles">
      <Tile icon="evidences" name={texts.evidences.title} count={counts.evidences} href={hrefOf(['evidences'])}>
        {categories && t.inCategories(categories.length, categories.flatMap((each) => each.subcategories).length)}
      </Tile>
      <Tile
        icon="warning"
        name={texts.evidence.updateNames.stolen}
        count={counts.stolen}
        href={hrefOf(['evidences'], { status: 'stolen' })}
        isAlarm={counts.stolen > 0}
      >
        {t.ofAll}
      </Tile>
      <Tile icon="clock" name={t.eventsToday} href={hrefOf(['evidences'], { sort: 'updated' })} {...eventsToday}>
        {t.createdToday(createdPerDay.at(-1)?.count ?? 0, week)}
      </Tile>
      <Tile icon="verify" name={t.waitingForProof} count={log.recorded.size - log.sealed.size} href={hrefOf(['log'])}>
        {t.waitingFor(forBlock)}
      </Tile>
    </div>
  )
}

interface TileProps {
  readonly icon: IconName
  readonly name: string
  readonly count: number
  readonly href: string
  readonly isAlarm?: boolean
  /** Whether there are more. */
  readonly isMore?: boolean
  readonly children: string | undefined
}

/** A count that leads to what it counts. */
const Tile = ({ icon, name, count, href, isAlarm = false, isMore = false, children }: TileProps) => (
  <a class="card tile quiet" href={href}>
    <span class="flex caption">
      <Icon name={icon} />
      {name}
    </span>
    <span class={`figure ${isAlarm ? 'is-stolen' : ''}`}>{count.toLocaleString() + (isMore ? '+' : '')}</span>
    <span class="small muted">{children}</span>
  </a>
)

const PERIODS = [7, 30] as const
/** The days between two labels of the axis. */
const LABEL_DAYS = 7

/** The end of an axis: a number with one digit that can be halved. */
function axisEnd(max: number): number {
  const unit = 10 ** Math.floor(Math.log10(max))
  return unit * (2 * Math.ceil(max / unit / 2))
}

/** One bar for each day. */
function CreatedPerDay({ days }: { readonly days: Overview['createdPerDay'] }) {
  const t = texts.overview
  const [period, setPeriod] = useState<number>(30)
  const shown = days.slice(-period)
  const max = Math.max(1, ...shown.map(({ count }) => count))
  const end = axisEnd(max)
  const labels = shown.filter((_, i) => i % LABEL_DAYS === 0 && i <= shown.length - LABEL_DAYS)
  const periods = (
    <div class="row" role="group" aria-label={t.period}>
      {PERIODS.map((each) => (
        <button key={each} class="chip" aria-pressed={each === period} onClick={() => setPeriod(each)}>
          {t.days(each)}
        </button>
      ))}
    </div>
  )
  return (
    <Card title={t.perDay} aside={periods}>
      <BarPlot
        summary={t.perDaySummary(shown.length, max, shown.at(-1)?.count ?? 0)}
        bars={shown.map(({ date, count }, i) => ({
          title: `${formatUtcDate(date)}: ${count}`,
          value: count,
          isToday: i === shown.length - 1,
        }))}
        end={end}
        y={[end, end / 2, 0].map((value) => value.toLocaleString())}
        x={[...labels.map(({ date }) => formatDay(date)), t.todayLabel]}
      />
    </Card>
  )
}

/** An evidence with its newest event. */
function ChangedEvidence({ item, logState }: { readonly item: EvidenceListItem; readonly logState: string }) {
  const { externalId, name, iconId } = item
  const newest = useNewest(item, logState)
  return (
    <li>
      <Thumb file={iconId} />
      <div class="text">
        <a class="stretched quiet" href={hrefOf(['evidences', externalId])}>
          <b class="cut">
            <bdi>{name || texts.noName}</bdi>
          </b>
        </a>
        <span class="small muted cut">{[newest.name, externalId, newest.owner].filter(Boolean).join(' · ')}</span>
      </div>
      {newest.isStolen && <StateBadge isStolen />}
      <span class="column small muted">
        <Time at={newest.at} isAge />
        <span class="wide-only">
          <SendStatus status={newest.sendStatus} />
        </span>
      </span>
    </li>
  )
}
