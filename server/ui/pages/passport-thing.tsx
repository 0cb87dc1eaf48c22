import type { ComponentChildren } from 'preact'
import type { BundleClaims, BundleEventClaims } from '../../../core/verify/index.ts'
import type { ErasedValue } from '../../client/index.ts'
import { Icon } from '../components/icon.tsx'
import { Notice } from '../components/notice.tsx'
import { Facts, LongText } from '../components/values.tsx'
import { lastText, membersOf, presentText, settersOf } from '../event-changes.ts'
import { erasedOn, erasedRows } from '../erased.ts'
import { actionOf, memberName } from '../event-names.ts'
import { formatUtcDate } from '../format.ts'
import * as texts from '../texts/index.ts'
import { isTrusted, useTrust } from '../trust.ts'
import { attachedFiles, SharedPhoto, type ShareKey } from './passport-files.tsx'
import type { Outcome } from './verify-document.ts'

interface ClaimsProps {
  readonly claims: BundleClaims
}

interface PassportThingProps extends ClaimsProps {
  /** What the registry says of values that are gone. */
  readonly erased: readonly ErasedValue[] | undefined
  readonly outcome: Outcome
  readonly share: ShareKey
}

/** What the thing is, its state in words, its owner, and what else the link shows of it. */
export function PassportThing({ outcome, claims, erased, share }: PassportThingProps) {
  const { events } = claims
  const text = (name: string): string | undefined => presentText(events, name)
  const name = text('name') ?? erasedOn(erased, 'name') ?? texts.verify.noNames
  const image = attachedFiles(events).find(({ id }) => id === text('imageId'))
  const Heading = stolenSince(claims) === undefined ? 'h1' : 'h2'
  return (
    <section class="card flush pass" aria-label={texts.passport.thing}>
      {image && <SharedPhoto file={image} share={share} label={name} />}
      <div class="stack">
        <div>
          <Heading>
            <bdi>{name}</bdi>
          </Heading>
          <p class="id">
            <bdi>{text('externalId')}</bdi>
          </p>
        </div>
        <NotStolen outcome={outcome} claims={claims} />
        <Facts
          of={[
            ...(erasedOn(erased, 'owner') === undefined ? ownerOf(events) : []),
            ...erasedRows(erased),
            [texts.passport.recordedBy, text('company')],
            ...metaOf(events).map(([path, value]) => [<bdi>{path}</bdi>, <bdi>{value}</bdi>] as const),
          ]}
        />
        {[text('description'), text('summary')].map((said) => said && <LongText key={said} text={said} />)}
      </div>
    </section>
  )
}

/** When the report of a theft was recorded that still stands, ms since 1970. `undefined` if none does. */
export function stolenSince({ events }: BundleClaims): number | undefined {
  const setters = settersOf(events, 'status')
  const ended = setters.findLastIndex(({ fields }) => fields.get('status') !== 'stolen')
  return setters[ended + 1]?.committedTime
}

/** Only of a history that says so. Never green: nobody can know. */
function NotStolen({ outcome, claims }: ClaimsProps & Pick<PassportThingProps, 'outcome'>) {
  const t = texts.passport
  const trust = useTrust()
  const { events } = claims
  const { text, isPresent } = lastText(events, 'status')
  const setter = settersOf(events, 'status').at(-1) ?? events[0]
  if (!isPresent || text === 'stolen' || setter === undefined) return null
  const date = formatUtcDate(setter.committedTime)
  const isKnown = isTrusted(trust, outcome)
  const word = trust === undefined ? t.itsWord : t.itsWordNow
  return (
    <p class="flex state">
      <Icon name={isKnown ? 'tick' : 'info'} />
      <span>
        <b>{texts.certificate.notStolen}</b>
        <span class="small muted">
          {text === undefined ? t.neverStolen(date) : t.foundOn(date)}
          {!isKnown && `, ${word}`}
        </span>
      </span>
    </p>
  )
}

/** Of an owner that a later event hides, only that there is another one. */
function ownerOf(events: readonly BundleEventClaims[]): readonly (readonly [string, ComponentChildren])[] {
  const t = texts.passport
  const { text, isPresent } = lastText(events, 'owner')
  const owner = text === undefined ? texts.evidences.noOwner : <bdi>{text}</bdi>
  const later = hiddenOwner(events)
  const setter = settersOf(events, 'owner').at(-1)
  if (later !== undefined)
    return [
      [texts.fields.owner, t.anotherSince(formatUtcDate(later))],
      [t.ownerBefore, owner],
    ]
  if (!isPresent) return [[texts.fields.owner, <span class="muted">{t.notShown}</span>]]
  return [
    [
      texts.fields.owner,
      <>
        {owner} {setter && texts.certificate.since(formatUtcDate(setter.committedTime))}
      </>,
    ],
  ]
}

/** Since when the thing has an owner that the link does not show, if it shows the one before. ms since 1970. */
function hiddenOwner(events: readonly BundleEventClaims[]): number | undefined {
  const setters = settersOf(events, 'owner')
  const shown = setters.findLastIndex(({ fields }) => fields.has('owner'))
  return shown < 0 ? undefined : setters.slice(shown + 1).at(-1)?.committedTime
}

/** The facts of the last event that set them. A transfer repeats those of its request without setting them. */
function metaOf(events: readonly BundleEventClaims[]): readonly (readonly [string, string])[] {
  const setter = settersOf(events, 'meta').findLast(({ fields }) => actionOf(fields)?.type !== 'transfer')
  return membersOf(setter?.fields.get('meta'), '').flatMap(([path, value]) =>
    // Only facts that are cleared or empty as a whole have no path.
    path === '' ? [] : [[memberName(path.slice(1)), typeof value === 'string' ? value : JSON.stringify(value)]],
  )
}

/** What a buyer must know first of a link that is older than the last transfer. */
export function NewOwnerNotice({ claims }: ClaimsProps) {
  const since = hiddenOwner(claims.events)
  if (since === undefined) return null
  return (
    <Notice tone="pending">
      <b>{texts.passport.newOwner(formatUtcDate(since))}</b> {texts.passport.newOwnerHint}
    </Notice>
  )
}
