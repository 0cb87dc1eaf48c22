import type { ComponentChildren } from 'preact'
import { Icon, Seal, type SealKind } from '../components/icon.tsx'
import { formatUtcDate } from '../format.ts'
import * as texts from '../texts/index.ts'
import { isTrusted, useTrust, type Trust } from '../trust.ts'
import type { Outcome } from './verify-document.ts'

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
