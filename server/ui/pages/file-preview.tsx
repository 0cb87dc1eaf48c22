import { useEffect, useState } from 'preact/hooks'
import { Failure, WhenLoaded } from '../components/notice.tsx'
import { useLoad } from '../components/use-load.ts'
import { useSession } from '../session.ts'
import { texts } from '../texts.ts'

/** Types that a browser shows without running anything in them. SVG and HTML are not among them. */
const INERT_IMAGES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'])
const TEXTS: ReadonlySet<string> = new Set(['text/plain', 'text/csv', 'application/json'])
const MAX_TEXT_BYTES = 256 * 1024

/** Whether a file of this type can be shown here. */
export const canPreview = (mimeType: string): boolean => INERT_IMAGES.has(mimeType) || TEXTS.has(mimeType)

/**
 * An image from the registry, fetched with the key. Its type is one of the inert types, whatever the file holds: the
 * browser only decodes pixels from it.
 */
export function FileImage({ fileId, label }: { readonly fileId: string; readonly label: string }) {
  const { client } = useSession()
  const image = useLoad(async (signal) => (await client.downloadFile({ fileId }, { signal })).blob(), [client, fileId])
  const content = image.loaded.state === 'done' ? image.loaded.value : undefined
  const url = useImageUrl(content)
  if (image.loaded.state === 'failed') return <Failure error={image.loaded.error} />
  return url === undefined ? null : <img class="evidence-image" src={url} alt={label} />
}

/** The address of an image of an inert type while the component is shown, else `undefined`. */
function useImageUrl(content: Blob | undefined): string | undefined {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    if (content === undefined || !INERT_IMAGES.has(content.type)) return undefined
    const created = URL.createObjectURL(content)
    setUrl(created)
    return () => URL.revokeObjectURL(created)
  }, [content])
  return url
}

/** A file that is not sent yet: its name and size, and what it shows. */
export function ChosenFile({ file }: { readonly file: File }) {
  const url = useImageUrl(file)
  return (
    <>
      <bdi>{file.name}</bdi> <span class="muted">{texts.evidence.size(file.size)}</span>
      {url !== undefined && <img class="evidence-image" src={url} alt={file.name} />}
    </>
  )
}

interface FilePreviewProps {
  readonly fileId: string
  readonly mimeType: string
  readonly name: string
}

/** An image, or the beginning of a text. */
export function FilePreview({ fileId, mimeType, name }: FilePreviewProps) {
  if (INERT_IMAGES.has(mimeType)) return <FileImage fileId={fileId} label={name} />
  return <FileText fileId={fileId} />
}

/** The beginning of a text, whatever its size. */
function FileText({ fileId }: { readonly fileId: string }) {
  const { client } = useSession()
  const headers = { Range: `bytes=0-${MAX_TEXT_BYTES - 1}` }
  const text = useLoad(
    async (signal) => (await client.downloadFile({ fileId }, { signal, headers })).text(),
    [client, fileId],
  )
  return <WhenLoaded of={text}>{(shown) => <pre>{shown}</pre>}</WhenLoaded>
}
