import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Client } from '../../client/index.ts'
import { Icon, Seal, type SealKind } from '../components/icon.tsx'
import { Notice } from '../components/notice.tsx'
import { Badge, Facts, StateBadge } from '../components/values.tsx'
import type { LastText } from '../event-changes.ts'
import { messageOf } from '../failure.ts'
import { formatBound, formatPrinted, formatUtcDate, formatUtcTime } from '../format.ts'
import type { Session } from '../session.ts'
import * as texts from '../texts/index.ts'
import { isTrusted, useTrust, type Trust } from '../trust.ts'
import { askForLater } from './later-events.ts'
import type { Outcome, Summary } from './verify-document.ts'

/** Only `refuted` is wrong. What is not known is grey. */
const SEALS: { readonly [state in Outcome['state']]?: SealKind } = {
  proven: 'proven',
  consistent: 'info',
  refuted: 'forged',
}

interface VerdictProps {
  readonly outcome: Outcome
  /** The page asked its own registry for the proof. */
  readonly isFetched?: boolean | undefined
}

/** A verdict in a word and a sentence. Of a log that the user trusts, only the keys are proven, and no time. */
export function verdictOn(trust: Trust | undefined, { outcome, isFetched = false }: VerdictProps) {
  const t = texts.verify
  const { state, summary } = outcome
  const { notLaterThan: at, isHistory = false, isLocalTime = false, eventCount = 0 } = summary ?? {}
  const existed = (date?: string): string => (isHistory ? t.existed(date, eventCount) : t.existedEvent(date))
  if (isTrusted(trust, outcome)) return { word: texts.trust.proven(formatUtcDate(trust.since)), sentence: existed() }
  if (state === 'consistent' && isFetched) return t.ownKeys
  const { word, sentence } = t.verdicts[state]
  if (state !== 'proven') return { word, sentence }
  return {
    word,
    sentence: isLocalTime ? `${existed()} ${t.localTime}` : existed(at === undefined ? at : formatUtcDate(at)),
  }
}

interface AlarmProps {
  readonly title: string
  readonly children: ComponentChildren
}

/** What must be known before anything else, over the whole width. */
export const Alarm = ({ title, children }: AlarmProps) => (
  <section class="verdict alarm" role="alert">
    <div>
      <Icon name="warning" />
      <h1>{title}</h1>
      <p>{children}</p>
    </div>
  </section>
)

/** The verdict over the whole width. */
export function Verdict(props: VerdictProps) {
  const trust = useTrust()
  const { word, sentence } = verdictOn(trust, props)
  const seal = isTrusted(trust, props.outcome) ? 'proven' : (SEALS[props.outcome.state] ?? 'unknown')
  return (
    <section class={`verdict ${seal}`} role="status">
      <div>
        <Seal kind={seal} />
        <h1>{word}</h1>
        <p>{sentence}</p>
      </div>
    </section>
  )
}

interface ReportProps {
  readonly outcome: Outcome
  readonly client: Client | undefined
  readonly session: Session | undefined
}

/** What is wrong or stolen, the record, and what is proven and what is not. */
export function Report({ outcome, ...asked }: ReportProps) {
  const t = texts.verify
  const { state, summary, reason, advice } = outcome
  const isWrong = state === 'refuted'
  return (
    <>
      {summary && <StateNotice of={summary} />}
      {(reason !== undefined || advice !== undefined) && (
        <Notice tone={isWrong ? 'stolen' : 'info'}>
          {reason !== undefined && <b>{reason}</b>}
          {advice !== undefined && <div>{advice}</div>}
        </Notice>
      )}
      {summary && <History summary={summary} {...asked} />}
      {summary && (
        <section class="flex card subject" aria-label={t.record}>
          <span class="thumb">
            <Icon name="file" />
          </span>
          <div class="column text">
            <b>
              <bdi>{nameOf(summary)}</bdi>
            </b>
            <span class="small muted">
              {[summary.externalId, ownerOf(summary)].filter(Boolean).map((text, index) => (
                <>
                  {index > 0 && ' · '}
                  <bdi>{text}</bdi>
                </>
              ))}
            </span>
            {summary.isHistory && <State of={summary.status} />}
          </div>
        </section>
      )}
      <AllClaims outcome={outcome} />
    </>
  )
}

/** What is proven and what is not. */
function AllClaims({ outcome }: { readonly outcome: Outcome }) {
  const t = texts.verify
  const { state, summary, steps } = outcome
  const kind = isTrusted(useTrust(), outcome) ? 'proven' : state
  const { notLaterThan: time, isHistory = false, isLocalTime = false } = summary ?? {}
  const isNamed = steps.some((step) => step.state === 'named')
  const proves = [
    ...(time === undefined || isLocalTime || isNamed ? [] : [t.existedBy(formatBound(time, formatPrinted), isHistory)]),
    ...t.proves[kind],
  ]
  const unproven = isLocalTime
    ? [t.localTime]
    : isNamed && time !== undefined
      ? [t.namedTime(formatBound(time, formatUtcTime))]
      : []
  return (
    <div class="claims">
      {proves.length > 0 && (
        <Claims title={t.itProves} isYes>
          {proves}
        </Claims>
      )}
      <Claims title={t.itProvesNot}>{[...unproven, ...t.provesNot[kind]]}</Claims>
    </div>
  )
}

/** What a buyer must know first: it was reported stolen, or that is hidden. */
export function StateNotice({ of: { status, isHistory } }: { readonly of: Summary }) {
  const t = texts.verify
  const { text, version = 0, isPresent } = status
  if (!isHistory || (isPresent && text !== 'stolen')) return null
  const isStolen = text === 'stolen'
  const [said, advice] = isPresent
    ? [t.saysStolen, t.stolenAdvice]
    : isStolen
      ? [t.saidStolen(version), t.saidStolenAdvice]
      : [t.hidesState, t.hidesStateAdvice]
  return (
    <Notice tone={isStolen ? 'stolen' : 'pending'}>
      <b>{said}</b> {advice}
    </Notice>
  )
}

/** Of a field that a later event sets without disclosing it, nothing is said to be present. */
function nameOf({ name: { text, version = 0, isPresent } }: Summary): ComponentChildren {
  const t = texts.verify
  if (text === undefined) return t.noNames
  return <bdi>{isPresent ? text : hiddenSince(t.nameHidden, text, version)}</bdi>
}

function ownerOf({ owner: { text, version = 0, isPresent }, isHistory }: Summary): string | undefined {
  const t = texts.verify
  if (!isPresent && isHistory) return hiddenSince(t.ownerHidden, text, version)
  return text === undefined ? undefined : t.ownedBy(text)
}

const hiddenSince = (said: string, text: string | undefined, version: number): string =>
  text === undefined ? said : `${said}; ${texts.verify.earlier(text, version)}`

const State = ({ of: { text, isPresent } }: { readonly of: LastText }) =>
  isPresent ? <StateBadge isStolen={text === 'stolen'} /> : <Badge icon="dash">{texts.verify.stateHidden}</Badge>

/** How far the history is shown. Whether it goes on, only the registry can say. */
function History({ summary, client, session }: Omit<ReportProps, 'outcome'> & { readonly summary: Summary }) {
  const t = texts.verify
  const [answer, setAnswer] = useState<string>()
  const ask = (registry: Client): void =>
    void askForLater(summary, registry, session?.client).then(setAnswer, (error: unknown) =>
      setAnswer(messageOf(error)),
    )
  // Of their own records, users see at once what was recorded since.
  useEffect(() => {
    if (client && session) ask(client)
  }, [summary.first.txId, session])
  return (
    <p class="row current small">
      <Icon name="clock" />
      <span role="status">
        {summary.isHistory ? t.complete(summary.eventCount) : t.oneEvent} {answer ?? t.onlyRegistry}
      </span>
      {client && answer === undefined && (
        <button class="link" onClick={() => ask(client)}>
          {t.ask}
        </button>
      )}
    </p>
  )
}

interface ClaimsProps {
  readonly title: string
  readonly isYes?: boolean
  readonly children: readonly string[]
}

const Claims = ({ title, isYes = false, children }: ClaimsProps) => (
  <section>
    <h2>{title}</h2>
    <ul class={isYes ? 'proven' : undefined}>
      {children.map((claim) => (
        <li key={claim}>
          <Icon name={isYes ? 'tick' : 'dash'} />
          <span>{claim}</span>
        </li>
      ))}
    </ul>
  </section>
)

const STEP_TONES = { ok: 'proven', named: undefined, failed: 'forged', skipped: undefined } as const
const STEP_ICONS = { ok: 'tick', named: 'dash', failed: 'cross', skipped: 'dash' } as const

/** A bundle may have 10,000 events, which a page cannot show at once. */
const GROUPS_AT_ONCE = 100

/** The doubt of the verifier that trust in a log resolves. */
const KEYS = 'the keys of the log'

interface DetailsProps {
  readonly outcome: Outcome
  /** Default: that these are the details. */
  readonly title?: ComponentChildren
  readonly isOpen?: boolean
  /** What comes before them. */
  readonly children?: ComponentChildren
}

/** Each check, the values of each event, and what could not be checked, folded. */
export function Details({ outcome, title, isOpen = false, children }: DetailsProps) {
  const t = texts.verify
  const { steps, groups } = outcome
  const [count, setCount] = useState(GROUPS_AT_ONCE)
  const isKnown = isTrusted(useTrust(), outcome)
  const unchecked = outcome.unchecked.filter(({ what }) => !isKnown || what !== KEYS)
  return (
    <details class={`fold ${title ? 'card' : ''}`} open={isOpen}>
      <summary>
        <Icon name={title ? 'verify' : 'log'} />
        <span>
          {title ?? texts.details} {!title && <span class="muted small">{t.detailsHint}</span>}
        </span>
        <Icon name="down" />
      </summary>
      <div class="stack">
        {children}
        <ul class="lines" aria-label={t.steps}>
          {steps.map(({ name, state, detail }, i) => (
            <li key={i}>
              <div class="text">
                <b>{t.stepNames[name]}</b>
                {detail && <div class="small muted cut">{detail}</div>}
              </div>
              <Badge tone={STEP_TONES[state]} icon={STEP_ICONS[state]}>
                {t.stepStates[state]}
              </Badge>
            </li>
          ))}
        </ul>
        {groups.slice(0, count).map((group, i) => (
          <section key={i}>
            <h3>{group.title}</h3>
            <Facts of={group.facts.map(([name, value]) => [<bdi>{name}</bdi>, <bdi>{value}</bdi>])} />
          </section>
        ))}
        {count < groups.length && (
          <button type="button" onClick={() => setCount(count + GROUPS_AT_ONCE)}>
            {texts.more}
          </button>
        )}
        {unchecked.length > 0 && (
          <section>
            <h3>{t.unchecked}</h3>
            <Facts of={unchecked.map(({ what, why }) => [what, why])} />
          </section>
        )}
      </div>
    </details>
  )
}

/** The verdict on a proof that the page asked its own registry for, in one line, with all else folded. */
export function FoldedVerdict({ outcome }: { readonly outcome: Outcome }) {
  const { notLaterThan: at, isLocalTime = false } = outcome.summary ?? {}
  const t = texts.trust
  const { word } = verdictOn(useTrust(), { outcome, isFetched: true })
  const time =
    at === undefined ? t.noTime : isLocalTime ? texts.verify.localTime : t.statedTime(formatBound(at, formatUtcTime))
  return (
    <Details
      outcome={outcome}
      title={
        <>
          {word} <span class="small muted">{time}</span>
        </>
      }
    >
      <AllClaims outcome={outcome} />
    </Details>
  )
}
