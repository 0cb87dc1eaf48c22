import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { EvidenceEvent } from '../../client/index.ts'
import { formatTime, formatUtc } from '../format.ts'
import { texts } from '../texts.ts'
import type { Tone } from './notice.tsx'

/** A time in the user's zone, with UTC on hover. */
export function Time({ at }: { readonly at: string | number }) {
  const utc = formatUtc(at)
  return (
    <time dateTime={utc} title={utc}>
      {formatTime(at)}
    </time>
  )
}

const SHORT_DIGITS = 12

/** A hash, selectable as a whole. The short form shows its beginning, and the whole hash on hover. */
export const Hash = ({ value, isShort = false }: { readonly value: string; readonly isShort?: boolean }) =>
  isShort ? (
    <span class="hash" title={value}>
      {value.slice(0, SHORT_DIGITS)}…
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

/** A short state in a frame. */
export function Badge({
  tone,
  title,
  children,
}: {
  readonly tone?: Tone | undefined
  readonly title?: string
  readonly children: ComponentChildren
}) {
  return (
    <span class={`badge ${tone ?? ''}`} title={title}>
      {children}
    </span>
  )
}

const TONES = { P: 'warn', S: 'warn', C: 'good', null: undefined } as const

/** P, S or C of an event, in words and with its letter. */
export function SendStatus({ status }: { readonly status: EvidenceEvent['merkleSendStatus'] }) {
  const key = status ?? 'null'
  const { short, long } = texts.evidence.sendStatus[key]
  const tone = TONES[key]
  return (
    <Badge title={long} {...(tone && { tone })}>
      {status === null ? '' : `${status} · `}
      {short}
    </Badge>
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
export function CopyButton({ text }: { readonly text: string }) {
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
      {isCopied ? texts.copied : texts.copy}
    </button>
  )
}
