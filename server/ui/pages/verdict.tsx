import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Client } from '../../client/index.ts'
import { Icon, Seal, type SealKind } from '../components/icon.tsx'
import { Notice } from '../components/notice.tsx'
import { Badge, Facts, StateBadge } from '../components/values.tsx'
import type { LastText } from '../event-changes.ts'
import { messageOf } from '../failure.ts'
import { formatDate, formatTime } from '../format.ts'
import type { Session } from '../session.ts'
import { texts } from '../texts.ts'
import { askForLater } from './later-events.ts'
import type { Outcome, Summary } from './verify-document.ts'

/** Only `refuted` is wrong. What is not known is grey. */
const SEALS: { readonly [state in Outcome['state']]?: SealKind } = {
  proven: 'proven',
  consistent: 'info',
  refuted: 'forged',
}

/** The verdict over the whole width, in a word and a sentence. */
export function Verdict({ outcome: { state, summary } }: { readonly outcome: Outcome }) {
  const { word, sentence } = texts.verify.verdicts[state]
  const seal = SEALS[state] ?? 'unknown'
  const t = texts.verify
  const { notLaterThan: at, isHistory = false, isLocalTime = false, eventCount = 0 } = summary ?? {}
  const date = at === undefined || isLocalTime ? undefined : formatDate(at)
  const existed = isHistory ? t.existed(date, eventCount) : t.existedEvent(date)
  const proven = state === 'proven' ? (isLocalTime ? `${existed} ${t.localTime}` : existed) : sentence
  return (
    <section class={`verdict ${seal}`} role="status">
      <div>
        <Seal kind={seal} />
        <h1>{word}</h1>
        <p>{proven}</p>
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
export function Report({ outcome: { state, summary, reason, advice }, ...asked }: ReportProps) {
  const t = texts.verify
  const isWrong = state === 'refuted'
  const proves = t.proves[state]
  const { notLaterThan: time, isHistory = false, isLocalTime = false } = summary ?? {}
  const not = isLocalTime ? [t.localTime, ...t.provesNot[state]] : t.provesNot[state]
  const existed = (at: string): string => t.existedBy(at, isHistory) + (state === 'proven' ? '' : t.ifTrusted)
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
            <b>{nameOf(summary)}</b>
            <span class="small muted">{[summary.externalId, ownerOf(summary)].filter(Boolean).join(' · ')}</span>
            {summary.isHistory && <State of={summary.status} />}
          </div>
        </section>
      )}
      <div class="claims">
        {proves.length > 0 && (
          <Claims title={t.itProves} isYes>
            {time === undefined || isLocalTime ? proves : [existed(formatTime(time)), ...proves]}
          </Claims>
        )}
        <Claims title={t.itProvesNot}>{not}</Claims>
      </div>
    </>
  )
}

/** What a buyer must know first: it was reported stolen, or that is hidden. */
function StateNotice({ of: { status, isHistory } }: { readonly of: Summary }) {
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

const STEP_TONES = { ok: 'proven', failed: 'forged', skipped: undefined } as const
const STEP_ICONS = { ok: 'tick', failed: 'cross', skipped: 'dash' } as const

/** A bundle may have 10,000 events, which a page cannot show at once. */
const GROUPS_AT_ONCE = 100

/** Each check, the values of each event, and what could not be checked, folded. */
export function Details({ outcome: { steps, groups, unchecked } }: { readonly outcome: Outcome }) {
  const t = texts.verify
  const [count, setCount] = useState(GROUPS_AT_ONCE)
  return (
    <details class="fold">
      <summary>
        <Icon name="log" />
        <span>
          {texts.details} <span class="muted small">{t.detailsHint}</span>
        </span>
        <Icon name="down" />
      </summary>
      <div class="stack">
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
        {groups.slice(0, count).map(({ title, facts }, i) => (
          <section key={i}>
            <h3>{title}</h3>
            <Facts of={facts.map(([name, value]) => [<bdi>{name}</bdi>, <bdi>{value}</bdi>])} />
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
