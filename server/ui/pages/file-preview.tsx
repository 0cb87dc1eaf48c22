import { useEffect, useState } from 'preact/hooks'
import { Icon } from '../components/icon.tsx'
import { Failure, Notice, WhenLoaded } from '../components/notice.tsx'
import { INERT_IMAGES } from '../components/thumb.tsx'
import { useLoad } from '../components/use-load.ts'
import { formatBytes } from '../format.ts'
import { useSession } from '../session.ts'
import * as texts from '../texts/index.ts'

const TEXTS: ReadonlySet<string> = new Set(['text/plain', 'text/csv', 'application/json'])
const MAX_TEXT_BYTES = 256 * 1024

/** Whether a file of this type can be shown here as a text. */
export const isText = (mimeType: string): boolean => TEXTS.has(mimeType)

/**
 * An image from the registry, fetched with the key. Its type is one of the inert types, whatever the file holds: the
 * browser only decodes pixels from it, and turns it as its EXIF data say.
 */
export function FileImage({ fileId, label }: { readonly fileId: string; readonly label: string }) {
  const { client } = useSession()
  const image = useLoad(async (signal) => (await client.downloadFile({ fileId }, { signal })).blob(), [client, fileId])
  const content = image.loaded.state === 'done' ? image.loaded.value : undefined
  const url = useImageUrl(content)
  const [isBroken, setBroken] = useState(false)
  if (image.loaded.state === 'failed') return <Failure error={image.loaded.error} />
  if (isBroken || (content !== undefined && !INERT_IMAGES.has(content.type)))
    return <Notice tone="info">{texts.files.notShown(content?.type ?? '')}</Notice>
  return url === undefined ? null : <img class="evidence-image" src={url} alt={label} onError={() => setBroken(true)} />
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
      {url === undefined ? (
        <span class="center">
          <Icon name="file" />
        </span>
      ) : (
        <img src={url} alt="" />
      )}
      <b class="cut">{file.name}</b>
      <span class="muted">{formatBytes(file.size)}</span>
    </>
  )
}

/** The beginning of a text, whatever its size. */
export function FileText({ fileId }: { readonly fileId: string }) {
  const { client } = useSession()
  const headers = { Range: `bytes=0-${MAX_TEXT_BYTES - 1}` }
  const text = useLoad(
    async (signal) => (await client.downloadFile({ fileId }, { signal, headers })).text(),
    [client, fileId],
  )
  return <WhenLoaded of={text}>{(shown) => <pre>{shown}</pre>}</WhenLoaded>
}
