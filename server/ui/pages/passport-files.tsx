import { useRef } from 'preact/hooks'
import type { AttachedFile, BundleEventClaims } from '../../../core/verify/index.ts'
import { Icon } from '../components/icon.tsx'
import { Card, Failure } from '../components/notice.tsx'
import { bitmapOf, Bitmap, INERT_IMAGES, useNear } from '../components/thumb.tsx'
import { useForm } from '../components/use-form.ts'
import { useLoad } from '../components/use-load.ts'
import { lastText } from '../event-changes.ts'
import { FieldError } from '../failure.ts'
import { formatBytes, saveFile } from '../format.ts'
import { publicClient } from '../session.ts'
import * as texts from '../texts/index.ts'
import { hashFile } from './verify-document.ts'

/** With what a link opens the files that it shows. */
export interface ShareKey {
  readonly shareId: string
  readonly headers: Readonly<Record<string, string>>
}

/** The disclosed files that no event deleted. */
export function attachedFiles(events: readonly BundleEventClaims[]): readonly AttachedFile[] {
  const files = events.flatMap((event) => [...event.files.values()])
  const deleted = new Set(files.filter((file) => 'deleted' in file).map(({ id }) => id))
  return files.filter((file) => 'sha256' in file).filter(({ id }) => !deleted.has(id))
}

interface SharedFileProps {
  readonly file: AttachedFile
  readonly share: ShareKey
}

/** Fetches a file of a link. Throws a `FieldError` if it is not the one that was recorded. */
async function readShared(
  { id: fileId, name, mimeType, sha256 }: AttachedFile,
  { shareId, headers }: ShareKey,
  signal?: AbortSignal,
): Promise<Blob> {
  const response = await publicClient.downloadSharedFile({ shareId, fileId }, { headers, ...(signal && { signal }) })
  const file = new File([await response.blob()], name, { type: mimeType })
  if ((await hashFile(file)).sha256 !== sha256) throw new FieldError({ [name]: texts.passport.otherFile(name) })
  return file
}

/** Larger photos are only for download. */
const MAX_PHOTO_BYTES = 20_000_000
const PHOTO_WIDTH = 960

const isPhoto = ({ mimeType, size }: AttachedFile): boolean => INERT_IMAGES.has(mimeType) && size <= MAX_PHOTO_BYTES

/** A photo, once it is near the screen and known to be the one that was recorded. */
export function SharedPhoto({ file, share, label }: SharedFileProps & { readonly label: string }) {
  const element = useRef<HTMLDivElement>(null)
  const isNear = useNear(element)
  const { loaded, reload } = useLoad(
    async (signal) =>
      isNear && isPhoto(file) ? bitmapOf(await readShared(file, share, signal), PHOTO_WIDTH) : undefined,
    [file.id, isNear],
  )
  return (
    <div class="photo" ref={element}>
      {loaded.state === 'failed' ? (
        <Failure error={loaded.error} retry={reload} />
      ) : loaded.state === 'done' && loaded.value ? (
        <Bitmap image={loaded.value} label={label} />
      ) : (
        <Icon name="camera" />
      )}
    </div>
  )
}

interface PassportFilesProps {
  readonly events: readonly BundleEventClaims[]
  readonly share: ShareKey
}

/** The other photos that the link shows, and its other files for download. */
export function PassportFiles({ events, share }: PassportFilesProps) {
  const imageId = lastText(events, 'imageId').text
  const files = attachedFiles(events).filter((file) => file.id !== imageId || !isPhoto(file))
  if (files.length === 0) return null
  return (
    <Card title={texts.evidence.files}>
      <div class="grid photos">
        {files.filter(isPhoto).map((file) => (
          <figure key={file.id}>
            <SharedPhoto file={file} share={share} label={file.name} />
            <figcaption class="tiny cut">
              <bdi>{file.name}</bdi>
            </figcaption>
          </figure>
        ))}
      </div>
      <ul class="lines">
        {files
          .filter((file) => !isPhoto(file))
          .map((file) => (
            <SharedDownload key={file.id} file={file} share={share} />
          ))}
      </ul>
    </Card>
  )
}

/** A file that is saved if it is the one that was recorded. */
function SharedDownload({ file, share }: SharedFileProps) {
  const { error, isBusy, run } = useForm({})
  const { name, mimeType, size } = file
  return (
    <li>
      <div class="text">
        <b class="cut">
          <bdi>{name}</bdi>
        </b>
        <span class="small muted cut">
          {mimeType}, {formatBytes(size)}
        </span>
        {error !== undefined && <Failure error={error} />}
      </div>
      <button
        disabled={isBusy}
        aria-label={`${texts.evidence.download}: ${name}`}
        onClick={() => void run(async () => saveFile(await readShared(file, share), name))}
      >
        {texts.evidence.download}
      </button>
    </li>
  )
}
