import { createContext, type ComponentChildren } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import type { EvidenceEvent } from '../../client/index.ts'
import { formatAge, formatTime, formatUtc } from '../format.ts'
import * as texts from '../texts/index.ts'
import { Icon, type IconName } from './icon.tsx'
import type { Tone } from './notice.tsx'

/** How all ages are shown. Another object with each tick of their clock. */
const Ages = createContext({ isExact: false })

const TICK_MS = 5_000

/**
 * The one clock of all ages below it. A tap on an age switches all of them to times, and back: touch has no hover.
 */
export function AgeClock({ children }: { readonly children: ComponentChildren }) {
  const [ages, setAges] = useState({ isExact: false })
  useEffect(() => {
    const timer = setInterval(() => setAges((before) => ({ ...before })), TICK_MS)
    const tap = ({ target }: Event): void => {
      if (target instanceof Element && target.matches('.age')) setAges(({ isExact }) => ({ isExact: !isExact }))
    }
    addEventListener('click', tap)
    return () => {
      clearInterval(timer)
      removeEventListener('click', tap)
    }
  }, [])
  return <Ages.Provider value={ages}>{children}</Ages.Provider>
}

/** A time: the exact one in UTC on hover. `isAge`: how long ago it was, for up to seven days. */
export function Time({ at, isAge = false }: { readonly at: string | number; readonly isAge?: boolean }) {
  const { isExact } = useContext(Ages)
  const utc = formatUtc(at)
  return (
    <time dateTime={utc} title={utc} class={isAge ? 'age' : undefined}>
      {isAge && !isExact ? formatAge(at) : formatTime(at)}
    </time>
  )
}

const [FIRST_DIGITS, LAST_DIGITS] = [8, 6]

/** A hash, selectable as a whole. The short form shows its beginning and its end, and the whole hash on hover. */
export const Hash = ({ value, isShort = false }: { readonly value: string; readonly isShort?: boolean }) =>
  isShort ? (
    <span class="hash" title={value}>
      {value.slice(0, FIRST_DIGITS)}…{value.slice(-LAST_DIGITS)}
    </span>
  ) : (
    <span class="hash">{value}</span>
  )

/** A text of several lines, in the direction of its own writing. */
export const LongText = ({ text }: { readonly text: string }) => (
  <div class="long-text" dir="auto">
    {text}
  </div>
)

interface BadgeProps {
  readonly tone?: Tone | undefined
  readonly icon?: IconName
  readonly title?: string
  readonly children: ComponentChildren
}

/** What is so, in a word. */
export function Badge({ tone, icon, title, children }: BadgeProps) {
  return (
    <span class={`badge ${tone ?? ''}`} title={title}>
      {icon && <Icon name={icon} />}
      {children}
    </span>
  )
}

/** Active or stolen. */
export const StateBadge = ({ isStolen }: { readonly isStolen: boolean }) =>
  isStolen ? (
    <Badge tone="stolen" icon="warning">
      {texts.evidences.stolen}
    </Badge>
  ) : (
    <Badge icon="tick">{texts.evidences.active}</Badge>
  )

/** The stops of a proof: recorded, sealed, stamped, anchored. `reached`: how many are. */
export function Track({ reached, title, children }: BadgeProps & { readonly reached: number }) {
  return (
    <span class="proof small" title={title}>
      <span class="track" aria-hidden="true">
        {[0, 1, 2, 3].map((i) => (
          <i key={i} class={i < reached ? 'on' : i === reached ? 'now' : ''} />
        ))}
      </span>
      <span>{children}</span>
    </span>
  )
}

/** A batch is stamped beside its anchor, so the third stop is only known once the fourth is reached. */
const REACHED = { P: 2, S: 2, C: 4, null: 1 } as const

/** Whether this is the name of the embedded authority or ledger, which are the operator's own. */
export const isOwn = (name: string): boolean => name === 'local'

/** Whose stamp it is. */
export const authorityName = (name: string): string => (isOwn(name) ? texts.ownTest.authority : name)

/** Where a block is. */
export const networkName = (name: string): string => (isOwn(name) ? texts.ownTest.ledger : name)

/** How far an event is proven, in a word. `undefined`: only that it is not anchored is known. */
export function SendStatus({ status }: { readonly status: EvidenceEvent['merkleSendStatus'] | undefined }) {
  if (status === undefined) return <Track reached={1}>{texts.evidences.notAnchored}</Track>
  const key = status ?? 'null'
  const { short, long } = texts.evidence.sendStatus[key]
  return (
    <Track reached={REACHED[key]} title={long}>
      {short}
    </Track>
  )
}

/** Names and values. Empty values are left out. */
export function Facts({ of }: { readonly of: readonly (readonly [ComponentChildren, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {of
        .filter(([, value]) => value !== undefined && value !== null && value !== false && value !== '')
        .map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </>
        ))}
    </dl>
  )
}

/**
 * Copies a text, which is shown beside it, to the clipboard. Does nothing if the browser does not allow it: the text
 * can be selected by hand.
 */
export function CopyButton({ text, label = texts.copy }: { readonly text: string; readonly label?: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = (): void => {
    // Missing on pages without TLS.
    void navigator.clipboard?.writeText(text).then(
      () => setCopied(true),
      () => setCopied(false),
    )
  }
  return (
    <button type="button" onClick={copy} aria-live="polite">
      <Icon name="copy" />
      {isCopied ? texts.copied : label}
    </button>
  )
}
