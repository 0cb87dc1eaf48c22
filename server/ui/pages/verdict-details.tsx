import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Icon } from '../components/icon.tsx'
import { Badge, Facts } from '../components/values.tsx'
import { formatBound, formatUtcTime } from '../format.ts'
import * as texts from '../texts/index.ts'
import { isTrusted, useTrust } from '../trust.ts'
import { AllClaims } from './report.tsx'
import { verdictOn } from './verdict.tsx'
import type { Outcome } from './verify-document.ts'

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
