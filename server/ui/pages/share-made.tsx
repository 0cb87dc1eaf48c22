import { LocalAddress } from '../components/local-address.tsx'
import { QrCode } from '../components/qr-code.tsx'
import { ShownOnce } from '../components/shown-once.tsx'
import { CopyButton } from '../components/values.tsx'
import { formatTime } from '../format.ts'
import * as texts from '../texts/index.ts'
import type { MadeLink } from './make-link.ts'

interface ShareMadeProps extends MadeLink {
  /** Of the evidence. */
  readonly name: string
  /** What the link shows, in words. */
  readonly what: string
}

/** The new link as a text and as a code to scan. */
export function ShareMade({ url, expiresAt, name, what }: ShareMadeProps) {
  const t = texts.share
  return (
    <ShownOnce title={t.madeTitle} kept={t.kept} closeText={t.done}>
      <LocalAddress url={url} />
      <div class="grid made">
        <QrCode text={url} label={t.qr} />
        <div class="stack">
          <p>
            <b>
              <bdi>{name}</bdi>
            </b>
            : {t.shows(what)} {expiresAt === undefined ? t.endless : t.ends(formatTime(expiresAt))}
          </p>
          <p class="small muted">{t.once}</p>
        </div>
      </div>
      <code class="key">{url}</code>
      <CopyButton text={url} label={t.copy} />
    </ShownOnce>
  )
}
