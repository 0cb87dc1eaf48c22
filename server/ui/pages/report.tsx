import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Client } from '../../client/index.ts'
import { Icon } from '../components/icon.tsx'
import { Notice } from '../components/notice.tsx'
import { Badge, StateBadge } from '../components/values.tsx'
import type { LastText } from '../event-changes.ts'
import { messageOf } from '../failure.ts'
import { formatBound, formatPrinted, formatUtcTime } from '../format.ts'
import type { Session } from '../session.ts'
import * as texts from '../texts/index.ts'
import { isTrusted, useTrust } from '../trust.ts'
import { askForLater } from './later-events.ts'
import type { Outcome, Summary } from './verify-document.ts'

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
export function AllClaims({ outcome }: { readonly outcome: Outcome }) {
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
