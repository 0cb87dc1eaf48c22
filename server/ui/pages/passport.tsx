import { useState } from 'preact/hooks'
import type { BundleClaims } from '../../../core/verify/index.ts'
import type { ErasedValue } from '../../client/index.ts'
import { Fingerprint } from '../components/fingerprint.tsx'
import { Icon } from '../components/icon.tsx'
import { Card, Empty, Notice, WhenLoaded } from '../components/notice.tsx'
import { useLoad } from '../components/use-load.ts'
import { erasedOn } from '../erased.ts'
import { fieldName } from '../event-names.ts'
import { insteadOf } from '../failure.ts'
import { formatUtcTime, saveFile } from '../format.ts'
import { hrefOf } from '../router.ts'
import { publicClient } from '../session.ts'
import * as texts from '../texts/index.ts'
import { isOfStranger, trustLog, useTrust } from '../trust.ts'
import { KeysChanged } from './keys-changed.tsx'
import { PassportFiles, type ShareKey } from './passport-files.tsx'
import { PassportHistory } from './passport-history.tsx'
import { NewOwnerNotice, PassportThing, stolenSince } from './passport-thing.tsx'
import { Report, StateNotice } from './report.tsx'
import { Alarm, Verdict } from './verdict.tsx'
import { FoldedVerdict } from './verdict-details.tsx'
import { SaveLink } from './verify.tsx'
import type { Outcome, Verify } from './verify-document.ts'

interface PassportPageProps {
  /** `SHARE_ID.SECRET` */
  readonly link: string
  readonly verify: Verify
}

/** What a link shows a stranger. Nothing is shown before it was verified in this browser. */
export function PassportPage({ link, verify }: PassportPageProps) {
  const trust = useTrust()
  const [differs, setDiffers] = useState(false)
  return (
    <WhenLoaded of={useLoad((signal) => openLink(link, verify, signal), [link])} title={texts.passport.checking}>
      {(opened) => {
        if (opened === undefined) return <EndedLink />
        const { outcome, text } = opened
        if (differs || isOfStranger(trust, outcome))
          return <KeysChanged trust={trust} origin={outcome.claims?.origin} text={text} />
        if (outcome.claims !== undefined)
          return <Passport {...opened} claims={outcome.claims} onDiffer={() => setDiffers(true)} />
        return (
          <>
            <Verdict outcome={outcome} isFetched />
            <div class="verdict-page">
              <Report outcome={outcome} client={undefined} session={undefined} />
            </div>
          </>
        )
      }}
    </WhenLoaded>
  )
}

/** What was fetched with a link, and what was found in it. */
interface Opened {
  readonly share: ShareKey
  readonly text: string
  readonly outcome: Outcome
  /** Where the registry files the thing, which nothing proves. */
  readonly filedUnder: string | undefined
  readonly erased: readonly ErasedValue[] | undefined
  /** ms since 1970. */
  readonly askedAt: number
}

/** `undefined` if the link opens nothing. */
async function openLink(link: string, verify: Verify, signal: AbortSignal): Promise<Opened | undefined> {
  const [, shareId, secret] = /^([\w-]+)\.([\w-]+)$/.exec(link) ?? []
  if (shareId === undefined || secret === undefined) return undefined
  const share = { shareId, headers: { 'X-Share-Secret': secret } }
  const options = { signal, headers: share.headers }
  const shared = await publicClient.openShare({ shareId }, options).catch(insteadOf('SHARE_NOT_FOUND', undefined))
  if (shared === undefined) return undefined
  const text = JSON.stringify(shared.bundle)
  const request = { text, policyText: undefined, isPinned: false, files: [] }
  const outcome = await verify(request, () => undefined, signal)
  const { category, subcategory } = shared.filedUnder ?? {}
  const filedUnder = [category, subcategory].filter(Boolean).join(' / ') || undefined
  return { share, text, outcome, filedUnder, erased: shared.erased, askedAt: Date.now() }
}

interface PassportProps extends Opened {
  readonly claims: BundleClaims
  readonly onDiffer: () => void
}

/** The thing and its state first, then its history, then why to believe it. */
function Passport({ share, text, outcome, claims, filedUnder, erased, askedAt, onDiffer }: PassportProps) {
  const trust = useTrust()
  const since = stolenSince(claims)
  const { summary } = outcome
  const save = (): void => saveFile(new Blob([text], { type: 'application/json' }), 'passport.evidence.json')
  return (
    <>
      {since !== undefined && (
        <Alarm title={texts.evidence.updateNames.stolen}>
          <b>{texts.passport.stolenSince(formatUtcTime(since))}</b> {texts.verify.stolenAdvice}
        </Alarm>
      )}
      <div class="verdict-page stack">
        <AsOf outcome={outcome} claims={claims} askedAt={askedAt} />
        <div class="split">
          <div>
            {summary && since === undefined && !summary.status.isPresent && <StateNotice of={summary} />}
            {erasedOn(erased, 'owner') === undefined && <NewOwnerNotice claims={claims} />}
            <PassportThing outcome={outcome} claims={claims} erased={erased} share={share} />
          </div>
          <div>
            {trust === undefined && outcome.state === 'consistent' && (
              <TrustCard origin={claims.origin} onDiffer={onDiffer} />
            )}
            <PassportHistory events={claims.events} />
            <PassportFiles events={claims.events} share={share} />
            <FoldedVerdict outcome={outcome} />
          </div>
        </div>
        <footer class="small muted stack">
          <p>
            {texts.passport.checkedHere} {notShown(claims)}
          </p>
          {filedUnder && <p>{texts.passport.filedUnder(filedUnder)}</p>}
          <SaveLink>
            <p class="row">
              <button onClick={save}>{texts.passport.saveProof}</button>
            </p>
          </SaveLink>
          <a class="button" href={hrefOf(['verify'])}>
            {texts.passport.checkElse}
          </a>
        </footer>
      </div>
    </>
  )
}

interface AsOfProps extends Pick<Opened, 'outcome' | 'askedAt'> {
  readonly claims: BundleClaims
}

/** How far the history goes, and since when that is known. */
function AsOf({ outcome, claims: { events, isHistory }, askedAt }: AsOfProps) {
  const t = texts.passport
  return (
    <p class="row current small">
      <Icon name="clock" />
      <span role="status">
        {useTrust() === undefined && <b>{t.isNew} </b>}
        <b>{isHistory ? t.completeNow(events.length, formatUtcTime(askedAt)) : texts.verify.oneEvent}</b>{' '}
        {outcome.state === 'pending' ? t.notSealed(events.length) : t.onlyRegistry}
      </span>
    </p>
  )
}

/** The fingerprint of a registry that is new to this device. */
function TrustCard({ origin, onDiffer }: { readonly origin: string; readonly onDiffer: () => void }) {
  const t = texts.trust
  return (
    <Card title={t.isReal(location.host)}>
      <div class="stack">
        <p>{t.compare}</p>
        <Fingerprint origin={origin} />
        <p class="small muted">{t.paper}</p>
        <div class="row">
          <button class="primary" onClick={() => trustLog(origin)}>
            {t.trust}
          </button>
          <button onClick={onDiffer}>{t.differ}</button>
        </div>
      </div>
    </Card>
  )
}

/** The service does not say why: an ended link and one that never was are the same. */
const EndedLink = () => (
  <div class="verdict-page stack">
    <div class="card">
      <Empty icon="cross">
        <h1>{texts.passport.ended}</h1>
        <p class="muted">{texts.passport.endedText}</p>
      </Empty>
    </div>
    <Notice tone="pending">
      <b>{texts.passport.endedWarning}</b> {texts.passport.endedAdvice}
    </Notice>
    <a class="button" href={hrefOf(['verify'])}>
      {texts.passport.checkFile}
    </a>
  </div>
)

/** What the events set and the link does not show. */
function notShown({ events }: BundleClaims): string {
  const t = texts.passport
  const fields = new Set(events.flatMap(({ hiddenFields }) => hiddenFields))
  // Only a random number.
  fields.delete('slotKey')
  const files = new Set(events.flatMap(({ hiddenFiles }) => hiddenFiles))
  const names = [...[...fields].map(fieldName), ...(files.size === 0 ? [] : [t.hiddenFiles(files.size)])]
  return names.length === 0 ? '' : t.hiddenFields(names.join(', '))
}
