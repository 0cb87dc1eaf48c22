import { useState } from 'preact/hooks'
import type { EvidenceListItem, Overview } from '../../client/index.ts'
import { Icon, type IconName } from '../components/icon.tsx'
import { NewEvidenceLink } from '../components/navigation.tsx'
import { Card, Empty, WhenLoaded } from '../components/notice.tsx'
import { Pipeline } from '../components/pipeline.tsx'
import { Thumb } from '../components/thumb.tsx'
import { useEvery, useLoad } from '../components/use-load.ts'
import { Badge, StateBadge, Time } from '../components/values.tsx'
import { insteadOf } from '../failure.ts'
import { formatDate } from '../format.ts'
import { hrefOf } from '../router.ts'
import { useSession, type Session } from '../session.ts'
import { texts } from '../texts.ts'
import { FirstRun, isFirstRun } from './first-run.tsx'

const REFRESH_MS = 10_000

/** Of a company that its first source system creates. */
const NOTHING: Overview = {
  counts: { evidences: 0, stolen: 0, categories: 0, files: 0 },
  createdPerDay: [],
  log: { recorded: { size: 0 }, sealed: { size: 0 }, stamped: { size: 0 }, anchored: { size: 0 } },
  health: 'ok',
  dts: [],
}

/** What the company has at a glance, or the first steps while it has nothing. */
export function OverviewPage({ onSession }: { readonly onSession: (session: Session) => void }) {
  const { client, companyId } = useSession()
  const [isHidden, setHidden] = useState(false)
  const overview = useLoad(
    (signal) => client.getOverview({}, { signal }).catch(insteadOf('COMPANY_NOT_FOUND', NOTHING)),
    // Not the client: signing in again must not end a form of the first steps.
    [companyId],
  )
  const { loaded } = overview
  const isFirst = !isHidden && loaded.state === 'done' && isFirstRun(companyId, loaded.value.counts.evidences)
  // An evidence of somebody else, or a failure, would end a form of the first steps.
  useEvery(REFRESH_MS, overview.reload, !isFirst)
  return (
    <WhenLoaded of={overview} title={texts.overview.title}>
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

function Glance({ overview: { counts, createdPerDay, log, health, dts } }: { readonly overview: Overview }) {
  const t = texts.overview
  const session = useSession()
  return (
    <>
      <div class="head">
        <div>
          <h1>{t.title}</h1>
          <p class="small muted">{session.companyId}</p>
        </div>
        <NewEvidenceLink session={session} />
      </div>
      <Tiles counts={counts} today={createdPerDay.at(-1)?.count ?? 0} />
      <Card title={t.pipeline} aside={t.wholeLog}>
        <Pipeline log={log} />
      </Card>
      <div class="split">
        <div>
          <CreatedPerDay days={createdPerDay} />
          <LastChanged items={dts} />
        </div>
        <div>
          <Card title={t.health} aside={<Badge {...HEALTH[health]}>{t.healths[health]}</Badge>}>
            <p class="small muted">{t.healthTexts[health]}</p>
          </Card>
        </div>
      </div>
    </>
  )
}

const HEALTH = { ok: { tone: 'proven', icon: 'tick' }, degraded: { tone: 'pending', icon: 'warning' } } as const

/** The counts, each with what it leads to. `today`: created today. */
function Tiles({ counts, today }: Pick<Overview, 'counts'> & { readonly today: number }) {
  const t = texts.overview
  return (
    <div class="grid tiles">
      <Tile icon="evidences" name={texts.evidences.title} count={counts.evidences} href={hrefOf(['evidences'])}>
        {t.today(today)}
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
      <Tile icon="tag" name={texts.categories.title} count={counts.categories} href={hrefOf(['categories'])}>
        {t.withSubcategories}
      </Tile>
      <Tile icon="attach" name={texts.evidence.files} count={counts.files} href={hrefOf(['evidences'])}>
        {t.filesOf}
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
  readonly children: string
}

/** A count that leads to what it counts. */
const Tile = ({ icon, name, count, href, isAlarm = false, children }: TileProps) => (
  <a class="card tile quiet" href={href}>
    <span class="flex caption">
      <Icon name={icon} />
      {name}
    </span>
    <span class={`figure ${isAlarm ? 'is-stolen' : ''}`}>{count.toLocaleString()}</span>
    <span class="small muted">{children}</span>
  </a>
)

const PERIODS = [7, 30] as const
const [BAR, GAP, HEIGHT] = [7, 3, 80]

/** One bar for each day. */
function CreatedPerDay({ days }: { readonly days: Overview['createdPerDay'] }) {
  const t = texts.overview
  const [period, setPeriod] = useState<number>(30)
  const shown = days.slice(-period)
  const max = Math.max(1, ...shown.map(({ count }) => count))
  const width = shown.length * (BAR + GAP)
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
      <div class="bars">
        <svg
          viewBox={`0 0 ${width} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={t.perDaySummary(shown.length, max, shown.at(-1)?.count ?? 0)}
        >
          {[0, HEIGHT / 2, HEIGHT].map((y) => (
            <line key={y} x1="0" x2={width} y1={y} y2={y} />
          ))}
          {shown.map(({ date, count }, i) => {
            const height = (count / max) * HEIGHT
            return (
              <rect
                key={date}
                x={i * (BAR + GAP) + GAP / 2}
                y={HEIGHT - height}
                width={BAR}
                height={height}
                class={i === shown.length - 1 ? 'today' : undefined}
              >
                <title>{`${formatDate(date)}: ${count}`}</title>
              </rect>
            )
          })}
        </svg>
        <div class="column y tiny muted" aria-hidden="true">
          <span>{max.toLocaleString()}</span>
          <span>0</span>
        </div>
        <div class="between x tiny muted" aria-hidden="true">
          <span>{shown[0] && formatDate(shown[0].date)}</span>
          <span>{t.todayLabel}</span>
        </div>
      </div>
    </Card>
  )
}

/** The evidences that were changed last. */
function LastChanged({ items }: { readonly items: readonly EvidenceListItem[] }) {
  const t = texts.overview
  return (
    <Card title={t.lastChanged} aside={<a href={hrefOf(['evidences'], { sort: 'updated' })}>{t.all}</a>}>
      {items.length === 0 && <Empty icon="evidences">{texts.evidences.none}</Empty>}
      <ul class="lines">
        {items.map(({ id, externalId, name, owner, iconId, stolen, lastUpdateDate, historyChanges }) => (
          <li key={id}>
            <Thumb file={iconId} />
            <div class="text">
              <a class="stretched quiet" href={hrefOf(['evidences', externalId])}>
                <b class="cut">
                  <bdi>{name}</bdi>
                </b>
              </a>
              <span class="small muted cut">
                {[externalId, owner.name, texts.evidences.eventCount(historyChanges.total)].filter(Boolean).join(' · ')}
              </span>
            </div>
            {stolen && <StateBadge isStolen />}
            <span class="small muted">
              <Time at={lastUpdateDate} isAge />
            </span>
          </li>
        ))}
      </ul>
    </Card>
  )
}
