from h import *
d='/tmp/attack/disk'; os.makedirs(d,exist_ok=True)
subprocess.run(['umount',d],capture_output=True); print(subprocess.run(['mount','-t','tmpfs','-o','size=48m','tmpfs',d],capture_output=True,text=True))
s=S('disk',9106,False,'workers.count=2',fresh=False)
r=s.run("x=1"); i=r['session']['id']; print(short(r,200))
n=0
for n in range(30):
    r=s.run(f"import os\nb{n}=os.urandom(3<<20)\n{n}",i)
    st=r.get('session',{})
    if st.get('state')!='kept': print(n,short(r,500)); break
print('df',subprocess.run(['df','-m',d],capture_output=True,text=True).stdout.split('\n')[1])
open(d+'/filler','wb').write(b'0') 
try:
    with open(d+'/filler','wb') as f:
        while True: f.write(b'0'*4096); f.flush()
except OSError: pass
for k in range(3):
    r=s.run("len(globals())",i); print('small cell',short(r,400))
x=s.req('PUT',f'/v1/sessions/{i}/files/a',b'1'); print('put',x[0],short(x[2],300))
x=s.req('GET',f'/v1/sessions/{i}/files'); print('list',x[0],short(x[2],200))
r=s.run("y=await tools.t(a=1)",i,tools=[{'name':'t'}]); print('park',short(r,300))
x=s.req('POST','/v1/sessions',{}); print('new',x[0],short(x[2],200)); r=s.run('1'); print('new run',short(r,300))
x=s.req('POST',f'/v1/sessions/{i}/fork',{}); print('fork',x[0],short(x[2],300))
x=s.req('DELETE',f'/v1/sessions/{i}'); print('close',x[0],short(x[2],300))
os.remove(d+'/filler'); time.sleep(2)
r=s.run('1+1'); print('after room:',short(r,300)); j=r.get('session',{}).get('id'); print(short(s.run('2',j),300))
s.stop(); print(open(d+'/err').read()[-2500:]); subprocess.run(['umount',d])
