import type { ComponentChildren } from 'preact'
import { messageOf } from '../failure.ts'
import * as texts from '../texts/index.ts'
import { Icon, type IconName } from './icon.tsx'
import type { Loading } from './use-load.ts'
import type { Pages } from './use-pages.ts'

/** The color of a message. Its text says the same, because a color alone says nothing to some. */
export type Tone = 'proven' | 'pending' | 'stolen' | 'forged' | 'info'

/** A message, grey without a tone. Screen readers announce it, errors at once. */
export function Notice({ tone, children }: { readonly tone: Tone | undefined; readonly children: ComponentChildren }) {
  return (
    <div class={`notice ${tone ?? ''}`} role={tone === 'stolen' ? 'alert' : 'status'}>
      <Icon name={tone === 'stolen' ? 'warning' : tone === 'proven' ? 'tick' : 'info'} />
      <div class="text">{children}</div>
    </div>
  )
}

const LINES_PX = [12, 12, 12]

/** Bars in the place of what is loading, as high as that will be. They claim nothing. */
export const Skeleton = ({ heightsPx = LINES_PX }: { readonly heightsPx?: readonly number[] | undefined }) => (
  <div role="status">
    <span class="visually-hidden">{texts.loading}</span>
    {heightsPx.map((px, i) => (
      <span key={i} class="skeleton" style={{ height: `${px}px` }} aria-hidden="true" />
    ))}
  </div>
)

/** What is said where nothing is, and what to do. */
export const Empty = ({ icon, children }: { readonly icon: IconName; readonly children: ComponentChildren }) => (
  <div class="empty" role="status">
    <Icon name={icon} />
    {children}
  </div>
)

/** An error with what to do about it. */
export function Failure({ error, retry }: { readonly error: unknown; readonly retry?: () => unknown }) {
  return (
    <Notice tone="stolen">
      {messageOf(error)} {retry && <button onClick={retry}>{texts.retry}</button>}
    </Notice>
  )
}

interface CardProps {
  readonly title: string
  /** At the end of the line of its title. */
  readonly aside?: ComponentChildren
  readonly id?: string
  readonly children: ComponentChildren
}

/** A part of a page, with a title. */
export const Card = ({ title, aside, id, children }: CardProps) => (
  <section class="card" id={id}>
    <header>
      <h2>{title}</h2>
      {aside && <div class="end small muted">{aside}</div>}
    </header>
    {children}
  </section>
)

interface WhenLoadedProps<T> {
  readonly of: Loading<T>
  /** The heading of a page that cannot show its own yet. */
  readonly title?: string
  /** The heights of what comes. */
  readonly heightsPx?: readonly number[]
  readonly children: (value: T) => ComponentChildren
}

/** Shows what was loaded, or that it is loading, or why it failed. */
export function WhenLoaded<T>({ of: { loaded, reload }, title, heightsPx, children }: WhenLoadedProps<T>) {
  const isDone = loaded.state === 'done'
  return (
    <>
      {title !== undefined && !isDone && <h1>{title}</h1>}
      {loaded.state === 'loading' && <Skeleton heightsPx={heightsPx} />}
      {'error' in loaded && <Failure error={loaded.error} retry={reload} />}
      {isDone && children(loaded.value)}
    </>
  )
}

interface PageListProps<T> {
  readonly of: Pages<T>
  /** Shown if the list has no items. */
  readonly empty?: ComponentChildren
  /** What the button for more does. Default: it reads the next page. */
  readonly onMore?: (() => void) | undefined
  readonly children: (items: readonly T[]) => ComponentChildren
}

/** Shows the items that were read of a list, why reading failed, and a button for more. */
export function PageList<T>({ of: { items, page, failure, readMore }, empty, onMore, children }: PageListProps<T>) {
  return (
    <>
      {failure && <Failure {...failure} />}
      {page === undefined && failure === undefined && <Skeleton />}
      {page !== undefined && items.length === 0 ? empty : items.length > 0 && children(items)}
      {(page?.isMore === true || onMore !== undefined) && <button onClick={onMore ?? readMore}>{texts.more}</button>}
    </>
  )
}
